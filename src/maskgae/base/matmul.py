r"""Products of dense matrices, by the library that is quickest for them on this processor.

torch multiplies matrices of float32 with MKL, which takes twice as long as it need on processors of
AMD with AVX-512; oneDNN, which comes with torch too, does not (``benchmarks/kernels.py`` measures
both). Where a product is large and the processor is one of those, as Linux tells, it is oneDNN's;
the last bits of the two differ.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

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
    def forward(a: Tensor, b: Tensor) -> Tensor:
        return _by_onednn(a, b)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        (a, b), (of_a, of_b) = inputs, ctx.needs_input_grad
        ctx.save_for_backward(a if of_b else None, b if of_a else None)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, b = ctx.saved_tensors
        return (
            None if b is None else _by_onednn(grad, b.T),
            # This way round it is quicker than the product of A^T and the gradient.
            None if a is None else _by_onednn(grad.T, a).T,
        )


def _is_for_onednn(a: Tensor, b: Tensor) -> bool:
    return (
        all(_is_plain(each) for each in (a, b))
        and a.shape[1] == b.shape[0]
        and a.numel() * b.shape[1] >= MANY
        and _onednn_is_quicker()
    )


def _is_plain(x: Tensor) -> bool:
    plain = x.dim() == 2 and x.layout == torch.strided
    return plain and x.device.type == "cpu" and x.dtype == torch.float32


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
    weight = b.T  # taken as it is where its rows or its columns lie one by one
    if not (weight.is_contiguous() or b.is_contiguous()):
        weight = weight.contiguous()
    out: Tensor = torch.ops.mkldnn._linear_pointwise(a, weight, None, "none", [], "")
    return out
