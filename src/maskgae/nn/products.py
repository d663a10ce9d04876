"""Pairs decoded from the rows of their ends, and gradients taken back to the rows.

Two ways with the same bits: torch's operations one after the other, and compiled loops that gather,
multiply and drop in one pass, and drop, multiply and add in one pass back. The loops win from some
million products on (``benchmarks/kernels.py``), where a run also has the time to load them.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.nn.decoder_kernels import Pass

#: Products of a step, in numbers, from which the loops are taken.
MANY = 2**22


class Pairs(Protocol):
    """Decodes one chunk of pairs after another; ``backward`` belongs to the last ``forward``."""

    def forward(self, u: Tensor, v: Tensor, stream: Stream | None) -> Tensor:
        """Logits, ``[P], [P] -> [P]``."""

    def backward(self, grad: Tensor, grad_z: Tensor) -> None:
        """Adds what flows back from the logits to the gradient of the rows, ``[P]``, ``[N, d]``."""


def pairs_of(z: Tensor, run: Pass, rows: int, total: int) -> Pairs:
    """What decodes chunks of at most ``rows`` pairs, ``total`` in all, from rows ``[N, d]``."""
    fits = z.device.type == "cpu" and z.dtype == torch.float32 and z.is_contiguous()
    loops = fits and total * z.shape[1] >= MANY
    return CompiledPairs(z, run, rows) if loops else PlainPairs(z, run, rows)


class PlainPairs:
    """By torch's operations, in memory that is used again and costs no page faults."""

    def __init__(self, z: Tensor, run: Pass, rows: int) -> None:
        self.z, self.run = z, run
        self._buffers = [z.new_empty(rows, z.shape[1]) for _ in range(3)]

    def forward(self, u: Tensor, v: Tensor, stream: Stream | None) -> Tensor:
        self._ends = u, v
        # [pairs, d] each
        self._rows = z_u, z_v, product = [buffer[: u.numel()] for buffer in self._buffers]
        torch.index_select(self.z, 0, u, out=z_u)
        torch.index_select(self.z, 0, v, out=z_v)
        torch.mul(z_u, z_v, out=product)
        return self.run.forward(product, stream)

    def backward(self, grad: Tensor, grad_z: Tensor) -> None:
        (u, v), (z_u, z_v, _) = self._ends, self._rows
        grad_product = self.run.backward(grad)
        grad_z.index_add_(0, u, z_v.mul_(grad_product))
        grad_z.index_add_(0, v, z_u.mul_(grad_product))


class CompiledPairs:
    """By compiled loops, which never keep a copy of the rows."""

    def __init__(self, z: Tensor, run: Pass, rows: int) -> None:
        self.z, self.run = z, run
        self._product = z.new_empty(rows, z.shape[1])

    def forward(self, u: Tensor, v: Tensor, stream: Stream | None) -> Tensor:
        from maskgae.kernels.compiled import in_threads
        from maskgae.kernels.products import multiply_rows

        product = self._product[: u.numel()]
        drawn = self.run.drawn(product, stream)
        self._given = self.z.detach().numpy(), u.contiguous().numpy(), v.contiguous().numpy()
        self._dropped = (None if drawn is None else drawn.numpy(), self.run.threshold)
        (z, one, other), (kept, threshold) = self._given, self._dropped
        out = product.numpy()

        def work(part: slice) -> None:
            own = None if kept is None else kept[part]
            multiply_rows(z, one[part], other[part], own, threshold, out[part])

        in_threads(work, u.numel())
        return self.run.forward(product, stream, dropped=True)

    def backward(self, grad: Tensor, grad_z: Tensor) -> None:
        from maskgae.kernels.compiled import in_threads
        from maskgae.kernels.products import add_rows

        z, u, v = self._given
        flowing, out = self.run.backward(grad).contiguous().numpy(), grad_z.numpy()

        def work(part: slice) -> None:
            add_rows(z, u, v, *self._dropped, flowing, part, out)
            add_rows(z, v, u, *self._dropped, flowing, part, out)

        in_threads(work, z.shape[1], least=32)
