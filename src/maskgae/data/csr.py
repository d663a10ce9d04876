r"""Compressed sparse rows, and the one sparse product that everything here is made of.

The product of a sparse matrix with a dense one is a sum of picked rows, which is what
``torch.nn.functional.embedding_bag`` computes. It needs no values where all are one and adds every
row in a fixed order, so results do not depend on the thread count; ``benchmarks/kernels.py`` times
it beside torch's CSR product and SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class CSR:
    r"""A sparse matrix by rows; without values every entry is one.

    Shapes:
        - **indptr:** ``[rows + 1]``
        - **indices:** ``[entries]``, the column of each entry
        - **values:** ``[entries]`` or ``None``

    >>> matrix = CSR(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]), num_columns=2)
    >>> matrix.matmul(torch.tensor([[1.0], [10.0]])).tolist()
    [[11.0], [10.0]]
    """

    indptr: Tensor
    indices: Tensor
    num_columns: int
    values: Tensor | None = None

    @property
    def num_rows(self) -> int:
        return self.indptr.numel() - 1

    @property
    def num_entries(self) -> int:
        return self.indices.numel()

    def counts(self) -> Tensor:
        """Entries in each row, ``[rows]``."""
        return self.indptr.diff()

    def row_of_entry(self) -> Tensor:
        """The row of each entry, ``[entries]``."""
        return torch.repeat_interleave(self.counts(), output_size=self.num_entries)

    def row_sums(self) -> Tensor:
        """Sum of the values in each row, ``[rows]``."""
        if self.values is None:
            return self.counts().to(torch.get_default_dtype())
        total = self.values.new_zeros(self.num_rows)
        return total.index_add_(0, self.row_of_entry(), self.values)

    def matmul(self, x: Tensor) -> Tensor:
        """The product with a dense matrix, ``[columns, d] -> [rows, d]``, without a gradient."""
        if self.num_entries == 0:
            return x.new_zeros(self.num_rows, x.shape[1])
        return F.embedding_bag(
            self.indices,
            x.contiguous(),
            self.indptr.to(self.indices.dtype),  # both of one type; indices may be of 32 bits
            mode="sum",
            per_sample_weights=self.values,
            include_last_offset=True,
        )

    def select(self, keep: Tensor) -> CSR:
        """The matrix with only the flagged entries, ``[entries]`` bool, in their order."""
        kept = positions(keep)
        # Counted in four bytes where that is enough, which halves the memory gone through.
        dtype = torch.int32 if self.num_entries < 2**31 else torch.long
        before = torch.empty(self.num_entries + 1, dtype=dtype, device=keep.device)
        before[0] = 0
        torch.cumsum(keep, 0, dtype=dtype, out=before[1:])
        values = None if self.values is None else self.values.index_select(0, kept)
        indices = self.indices.index_select(0, kept)
        indptr = before.index_select(0, self.indptr).long()
        return CSR(indptr, indices, self.num_columns, values)

    def rows(self, index: Tensor) -> CSR:
        """The matrix of the given rows, in the given order."""
        counts = self.indptr[index + 1] - self.indptr[index]
        indptr = torch.zeros(index.numel() + 1, dtype=self.indptr.dtype, device=self.indptr.device)
        torch.cumsum(counts, 0, out=indptr[1:])
        total = int(indptr[-1])
        starts = torch.repeat_interleave(
            self.indptr[:-1][index] - indptr[:-1], counts, output_size=total
        )
        entries = starts + torch.arange(total, device=starts.device)
        values = None if self.values is None else self.values[entries]
        return CSR(indptr, self.indices[entries], self.num_columns, values)

    def between(self, part: slice) -> CSR:
        """The matrix of some rows that follow each other, which shares their entries."""
        indptr = self.indptr[part.start : part.stop + 1]
        entries = slice(int(indptr[0]), int(indptr[-1]))
        values = None if self.values is None else self.values[entries]
        return CSR(indptr - indptr[0], self.indices[entries], self.num_columns, values)

    def transpose_order(self) -> Tensor:
        """The positions of the entries by column, then by row."""
        return torch.sort(self.indices, stable=True).indices

    def transposed(self, order: Tensor) -> CSR:
        """The transposed matrix, given :meth:`transpose_order`."""
        counts = torch.bincount(self.indices, minlength=self.num_columns)
        indptr = torch.zeros(self.num_columns + 1, dtype=torch.long, device=self.indptr.device)
        torch.cumsum(counts, 0, out=indptr[1:])
        values = None if self.values is None else self.values[order]
        return CSR(indptr, self.row_of_entry()[order], self.num_rows, values)

    def transposed_matmul(self, x: Tensor) -> Tensor:
        """The transposed matrix's product, ``[rows, d] -> [columns, d]``, by a compiled loop.

        The same bits as ``self.transposed(order).matmul(x)``, which reads the rows of ``x`` here
        and there where this reads each once; what it makes should fit a core's cache instead. It
        takes float32 on a processor, and values.

        >>> matrix = CSR(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]), 2, torch.ones(3))
        >>> matrix.transposed_matmul(torch.tensor([[1.0], [10.0]])).tolist()
        [[1.0], [11.0]]
        """
        from maskgae.kernels.compiled import in_threads
        from maskgae.kernels.sums import scatter_rows

        assert self.values is not None
        matrix = tuple(tensor.numpy() for tensor in (self.indptr, self.indices, self.values))
        rows, out = x.contiguous().numpy(), x.new_zeros(self.num_columns, x.shape[1])
        in_threads(lambda part: scatter_rows(matrix, rows, part, out.numpy()), x.shape[1], 32)
        return out

    def to(self, device: torch.device | str) -> CSR:
        values = None if self.values is None else self.values.to(device)
        return CSR(self.indptr.to(device), self.indices.to(device), self.num_columns, values)


def positions(flags: Tensor) -> Tensor:
    """Where the flags are set, ascending; NumPy finds them several times as fast as torch."""
    if flags.device.type == "cpu":
        return torch.from_numpy(np.flatnonzero(flags.numpy()))
    return flags.nonzero().squeeze(1)


def csr_from_coordinates(rows: Tensor, columns: Tensor, shape: tuple[int, int]) -> CSR:
    """A matrix of ones from sorted coordinates (by row, then by column)."""
    indptr = torch.zeros(shape[0] + 1, dtype=torch.long)
    torch.cumsum(torch.bincount(rows, minlength=shape[0]), 0, out=indptr[1:])
    return CSR(indptr, columns, shape[1])


class SparseProduct(torch.autograd.Function):
    r""":math:`Y = S X` with the gradient :math:`S^\top G` with respect to the dense factor.

    The product with the transposed matrix is given, since whoever has the matrix knows how best to
    make it.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: CSR, back: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.back = back
        return matrix.matmul(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.back(grad), None, None
