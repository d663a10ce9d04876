r"""Products of dense matrices, by the library that is quickest for them on this processor.

torch multiplies matrices of float32 with MKL, which keeps to narrower instructions on processors of
AMD; oneDNN, which comes with torch too, uses all that there are. Where a product is large and the
processor is one of those, it is oneDNN's; the last bits of the two differ.
``benchmarks/kernels.py`` measures both.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import torch
from torch import Tensor

from maskgae.base.processor import processor

#: Multiplications from which a product is worth what oneDNN takes to prepare for a new shape.
MANY = 2**27


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """The product :math:`A B` and its gradients, ``[n, k], [k, m] -> [n, m]``.

    >>> matmul(torch.ones(1, 2), torch.ones(2, 1))
    tensor([[2.]])
    """
    if not _is_for_onednn(a, b):
        return a @ b
    out: Tensor = _Product.apply(a, b)
    return out


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return _by_onednn(a, b)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, b = ctx.saved_tensors
        of_a, of_b = ctx.needs_input_grad
        return (
            _by_onednn(grad, b.T) if of_a else None,
            # This way round it is quicker than the product of A^T and the gradient.
            _by_onednn(grad.T, a).T if of_b else None,
        )


def _is_for_onednn(a: Tensor, b: Tensor) -> bool:
    fits = all(each.device.type == "cpu" and each.dtype == torch.float32 for each in (a, b))
    return fits and a.numel() * b.shape[1] >= MANY and _onednn_is_quicker()


@cache
def _onednn_is_quicker() -> bool:
    """Whether this is such a processor, and torch has oneDNN's product where it is looked for."""
    if not processor().startswith("AuthenticAMD") or "AVX512" not in processor():
        return False
    with suppress(AttributeError, RuntimeError, TypeError):
        one = torch.ones(1, 1)
        return bool(_by_onednn(one, one) == one)
    return False


def _by_onednn(a: Tensor, b: Tensor) -> Tensor:
    out: Tensor = torch.ops.mkldnn._linear_pointwise(_plain(a), _plain(b.T), None, "none", [], "")
    return out


def _plain(x: Tensor) -> Tensor:
    """The same matrix, copied only where neither its rows nor its columns lie one by one."""
    return x if x.is_contiguous() or x.T.is_contiguous() else x.contiguous()
