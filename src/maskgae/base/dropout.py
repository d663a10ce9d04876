r"""Cheap noise: dropout from random bytes.

Drawing a float for each activation costs more than the matrix product that follows it. One byte
an entry is enough: an entry is kept where its byte lies below :math:`t = \mathrm{round}(256
(1 - p))`, and kept entries are scaled by :math:`256 / t`, so the expectation is exact and the
rate is ``p`` to within 1/512.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskgae.base.rng import Stream

#: Entries of one block of :func:`dropped_product` (1 MiB in float32, which stays in the cache).
BLOCK = 2**18


def random_bytes(count: int, stream: Stream, device: torch.device | str = "cpu") -> Tensor:
    """``count`` uniform bytes."""
    if torch.device(device).type != "cpu":
        out = torch.empty(count, dtype=torch.uint8, device=device)
        return out.random_(generator=stream.torch(device))
    words = stream.numpy().bit_generator.random_raw((count + 7) // 8)
    return torch.from_numpy(words.view(np.uint8)[:count])


def keep_threshold(p: float) -> int:
    """How many of the 256 values of a byte keep an entry at dropout rate ``p``."""
    return max(1, round(256 * (1 - p)))


def kept_positions(
    count: int, p: float, stream: Stream, device: torch.device | str = "cpu"
) -> tuple[Tensor, float]:
    """Which of ``count`` entries dropout keeps, ``[count]`` bool, and what scales them."""
    threshold = keep_threshold(p)
    if threshold == 256:
        return torch.ones(count, dtype=torch.bool, device=device), 1.0
    drawn = random_bytes(count, stream, device)
    if drawn.device.type == "cpu":
        # NumPy compares bytes many times as fast as torch does (benchmarks/kernels.py).
        return torch.from_numpy(drawn.numpy() < threshold), 256 / threshold
    return drawn < threshold, 256 / threshold


def fill_kept(out: Tensor, p: float, stream: Stream) -> float:
    """Sets ``out`` to one where dropout keeps an entry and to zero elsewhere; returns the scale."""
    threshold = keep_threshold(p)
    if threshold == 256:  # beyond a byte
        out.fill_(1)
        return 1.0
    drawn = random_bytes(out.numel(), stream, out.device).view(out.shape)
    if out.device.type == "cpu":
        np.less(drawn.numpy(), threshold, out=out.numpy(), casting="unsafe")
    else:
        torch.lt(drawn, threshold, out=out)
    return 256 / threshold


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return _kept(x, keep, scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (keep,) = ctx.saved_tensors
        return _kept(grad, keep, ctx.scale), None, None


def _kept(x: Tensor, keep: Tensor, scale: float) -> Tensor:
    # Byte to float and two products in place: half the time of a product with booleans.
    return keep.view(torch.uint8).to(x.dtype).mul_(scale).mul_(x)


def dropout(x: Tensor, p: float, stream: Stream) -> Tensor:
    """Zeroes each entry with chance ``p`` and scales the others so that the mean stays.

    >>> from maskgae.base.rng import stream
    >>> dropped = dropout(torch.ones(1000, 10), 0.5, stream(0, "dropout"))
    >>> sorted(set(dropped.flatten().tolist()))
    [0.0, 2.0]
    """
    if p == 0:
        return x
    keep, scale = kept_positions(x.numel(), p, stream, x.device)
    return dropped(x, keep.view(x.shape), scale)


def dropped(x: Tensor, keep: Tensor, scale: float) -> Tensor:
    r"""What is left of a tensor, :math:`s\, X \odot M`, all of one shape."""
    out: Tensor = _Dropout.apply(x, keep, scale)
    return out


def dropped_product(x: Tensor, keep: Tensor, scale: float, weight: Tensor) -> Tensor:
    r"""The product :math:`(s\, X \odot M)\, W` of what dropout leaves, block by block.

    The factor in brackets is never whole in memory, neither now nor for the backward pass, which
    makes it again. ``benchmarks/kernels.py`` measures what that saves on large matrices.

    Args:
        x: the matrix before dropout.
        keep: which of its entries dropout keeps.
        scale: what multiplies them.
        weight: the other factor.

    Shapes:
        - **x, keep:** ``[n, in]``
        - **weight:** ``[in, out]``
        - **output:** ``[n, out]``
    """
    out: Tensor = _DroppedProduct.apply(x, keep, scale, weight)
    return out


class _DroppedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, keep: Tensor, scale: float, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, keep, weight)
        ctx.scale = scale
        out = x.new_empty(x.shape[0], weight.shape[1])
        for rows in _blocks(x):
            torch.mm(_kept(x[rows], keep[rows], scale), weight, out=out[rows])
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, None, None, Tensor]:
        x, keep, weight = ctx.saved_tensors
        grad_x = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        grad_weight = torch.zeros_like(weight)
        for rows in _blocks(x):
            grad_weight.addmm_(_kept(x[rows], keep[rows], ctx.scale).T, grad[rows])
            if grad_x is not None:
                grad_x[rows] = _kept(grad[rows] @ weight.T, keep[rows], ctx.scale)
        return grad_x, None, None, grad_weight


def _blocks(x: Tensor) -> Iterator[slice]:
    rows = max(1, BLOCK // x.shape[1])
    return (slice(start, start + rows) for start in range(0, x.shape[0], rows))
