r"""Node features that know how to be multiplied.

=======  ==========================================================================
dense    a tensor; a layer may pass it along the edges before it multiplies it
sparse   compressed rows, for bags of words: dropout falls on the non-zeros only, and
         what it drops is left out of the product, forward and backward
=======  ==========================================================================

An encoder calls ``dropout`` and then ``linear``, and never asks which kind it holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from maskgae.base.dropout import dropout, dropped, dropped_product, kept_positions
from maskgae.base.errors import InputError
from maskgae.base.matmul import matmul
from maskgae.base.rng import Stream
from maskgae.data.csr import CSR, SparseProduct

#: Below this density, after dropout, a matrix is multiplied sparse. ``benchmarks/kernels.py``
#: measures where the sparse product and the dense one take the same time, forward and backward;
#: this is on the safe side of it.
BREAK_EVEN_DENSITY = 0.12

#: Entries from which what dropout leaves of a dense matrix is never made whole (64 MiB in float32).
#: Tensors of that size go back to the system when they are freed; the next pays for its pages anew.
LARGE = 2**24

#: Multiplications from which a compiled loop is worth its loading.
MANY = 2**24
#: Numbers that stay in a core's cache (4 MiB in float32).
CACHED = 2**20


class Features(ABC):
    """A matrix with a row for each node."""

    num_rows: int
    num_columns: int

    #: Width at which the rows can be sent along edges before they are multiplied by weights.
    message_width: float

    @abstractmethod
    def linear(self, weight: Tensor) -> Tensor:
        """The product with a weight matrix, ``[columns, d] -> [rows, d]``."""

    def around(self, adjacency: Any) -> Tensor:
        """The rows' normalised sum over neighbours, ``[n_src, columns] -> [n_dst, columns]``."""
        out: Tensor = adjacency.normalized(self.dense())
        return out

    @abstractmethod
    def dropout(self, p: float, stream: Stream) -> Features:
        """A copy in which each entry is zero with chance ``p`` and else scaled up."""

    @abstractmethod
    def rows(self, index: Tensor) -> Features:
        """The given rows."""

    @abstractmethod
    def dense(self) -> Tensor:
        """All entries, ``[rows, columns]``."""

    @abstractmethod
    def to(self, device: torch.device | str) -> Features:
        """The same matrix on another device, itself where it is there already."""

    @abstractmethod
    def scipy(self) -> sp.csr_matrix:
        """The same matrix as a SciPy one."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.num_rows, self.num_columns

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_rows}, {self.num_columns})"


class DenseFeatures(Features):
    """A tensor with a row for each node, ``[rows, columns]``."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.num_rows, self.num_columns = tensor.shape
        self.message_width = self.num_columns

    def linear(self, weight: Tensor) -> Tensor:
        return matmul(self.tensor, weight)

    def dropout(self, p: float, stream: Stream) -> DenseFeatures:
        if p == 0 or self.tensor.numel() < LARGE:
            return DenseFeatures(dropout(self.tensor, p, stream))
        return _DroppedDense(self.tensor, p, stream)

    def rows(self, index: Tensor) -> DenseFeatures:
        return DenseFeatures(self.tensor.index_select(0, index))

    def dense(self) -> Tensor:
        return self.tensor

    @property
    def fixed(self) -> bool:
        """Whether it is on the CPU and takes no gradient."""
        return _fixed(self.tensor)

    def to(self, device: torch.device | str) -> DenseFeatures:
        return DenseFeatures(self.tensor.to(device))

    def scipy(self) -> sp.csr_matrix:
        return sp.csr_matrix(self.tensor.numpy())


def _fixed(tensor: Tensor) -> bool:
    return tensor.device.type == "cpu" and not tensor.requires_grad


class _DroppedDense(DenseFeatures):
    """What dropout leaves of a large matrix; a product with it makes it block by block."""

    def __init__(self, full: Tensor, p: float, stream: Stream) -> None:
        self.num_rows, self.num_columns = full.shape
        self.message_width = self.num_columns
        keep, self._scale = kept_positions(full.numel(), p, stream, full.device)
        self._full, self._keep = full, keep.view(full.shape)

    @cached_property
    def tensor(self) -> Tensor:  # type: ignore[override]
        return dropped(self._full, self._keep, self._scale)

    @property
    def fixed(self) -> bool:
        return _fixed(self._full)

    def around(self, adjacency: Any) -> Tensor:
        if not self.fixed:
            return super().around(adjacency)
        from maskgae.kernels.compiled import in_threads
        from maskgae.kernels.sums import sum_kept

        csr, own = adjacency.normalized_weights
        values, own = csr.values * self._scale, own.view(-1) * self._scale
        matrix = tuple(tensor.numpy() for tensor in (csr.indptr, csr.indices, values, own))
        x, keep = self._full.numpy(), self._keep.view(torch.uint8).numpy()
        out = self._full.new_empty(csr.num_rows, self.num_columns)
        in_threads(lambda part: sum_kept(matrix, x, keep, part, out.numpy()), csr.num_rows)
        return out

    def linear(self, weight: Tensor) -> Tensor:
        return dropped_product(self._full, self._keep, self._scale, weight)


class SparseFeatures(Features):
    """Compressed rows with values.

    Args:
        by_row: the matrix.
    """

    # Sent along edges, a sparse row would fill up; so it is always multiplied first.
    message_width = float("inf")

    def __init__(self, by_row: CSR) -> None:
        self.by_row = by_row
        self.num_rows, self.num_columns = by_row.num_rows, by_row.num_columns

    @cached_property
    def column_order(self) -> Tensor:
        return self.by_row.transpose_order()

    @cached_property
    def by_column(self) -> CSR:
        return self.by_row.transposed(self.column_order)

    @property
    def density(self) -> float:
        return self.by_row.num_entries / max(1, self.num_rows * self.num_columns)

    def linear(self, weight: Tensor) -> Tensor:
        if self.density > BREAK_EVEN_DENSITY:
            return matmul(self.dense(), weight)
        product: Tensor = SparseProduct.apply(weight, self.by_row, self._back)
        return product

    def _back(self, grad: Tensor) -> Tensor:
        """The transposed matrix's product, ``[rows, d] -> [columns, d]``, with the same bits."""
        plain = grad.device.type != "cpu" or grad.dtype != torch.float32
        many = self.by_row.num_entries * grad.shape[1] >= MANY
        if plain or not many or self.num_columns * grad.shape[1] > CACHED:
            return self.by_column.matmul(grad)
        return self.by_row.transposed_matmul(grad)

    def dropout(self, p: float, stream: Stream) -> SparseFeatures:
        if p == 0:
            return self
        values = self.by_row.values
        assert values is not None
        keep, scale = kept_positions(self.by_row.num_entries, p, stream, values.device)
        return _Dropped(self, keep, scale)

    def rows(self, index: Tensor) -> SparseFeatures:
        return SparseFeatures(self.by_row.rows(index))

    def dense(self) -> Tensor:
        assert self.by_row.values is not None
        out = self.by_row.values.new_zeros(self.num_rows * self.num_columns)
        flat = self.by_row.row_of_entry() * self.num_columns + self.by_row.indices
        return out.index_copy_(0, flat, self.by_row.values).view(self.num_rows, self.num_columns)

    def to(self, device: torch.device | str) -> SparseFeatures:
        if self.by_row.indptr.device == torch.device(device):
            return self  # with what it has cached
        return SparseFeatures(self.by_row.to(device))

    def scipy(self) -> sp.csr_matrix:
        assert self.by_row.values is not None
        arrays = (self.by_row.values, self.by_row.indices, self.by_row.indptr)
        return sp.csr_matrix(tuple(a.numpy() for a in arrays), shape=self.shape)


class _Dropped(SparseFeatures):
    """What dropout left of sparse features; both orders come from the full ones by selection."""

    def __init__(self, full: SparseFeatures, keep: Tensor, scale: float) -> None:
        by_row = full.by_row.select(keep)
        assert by_row.values is not None
        by_row.values.mul_(scale)
        super().__init__(by_row)
        self._full, self._keep, self._scale = full, keep, scale

    @cached_property
    def by_column(self) -> CSR:
        keep = self._keep.index_select(0, self._full.column_order)
        by_column = self._full.by_column.select(keep)
        assert by_column.values is not None
        by_column.values.mul_(self._scale)
        return by_column


class JoinedFeatures(Features):
    """Several matrices of the same nodes side by side, each multiplied in its own way."""

    message_width = float("inf")

    def __init__(self, parts: Sequence[Features]) -> None:
        self.parts = list(parts)
        self.num_rows = self.parts[0].num_rows
        self.num_columns = sum(part.num_columns for part in self.parts)

    def linear(self, weight: Tensor) -> Tensor:
        blocks = weight.split([part.num_columns for part in self.parts])
        products = [part.linear(block) for part, block in zip(self.parts, blocks, strict=True)]
        return torch.stack(products).sum(0)

    def dropout(self, p: float, stream: Stream) -> JoinedFeatures:
        return JoinedFeatures([x.dropout(p, stream.at(i)) for i, x in enumerate(self.parts)])

    def rows(self, index: Tensor) -> JoinedFeatures:
        return JoinedFeatures([part.rows(index) for part in self.parts])

    def dense(self) -> Tensor:
        return torch.cat([part.dense() for part in self.parts], dim=1)

    def to(self, device: torch.device | str) -> JoinedFeatures:
        return JoinedFeatures([part.to(device) for part in self.parts])

    def scipy(self) -> sp.csr_matrix:
        return sp.hstack([part.scipy() for part in self.parts], format="csr")


@np.errstate(over="ignore")  # what is too large for float32 becomes infinite and is refused
def as_features(x: Any) -> Features:
    """Features from a tensor, an array or a SciPy matrix; sparse where that is the faster way.

    >>> as_features(np.eye(100)), as_features(np.ones((2, 3)))
    (SparseFeatures(100, 100), DenseFeatures(2, 3))
    """
    if isinstance(x, Features):
        return x
    if sp.issparse(x):
        matrix = sp.csr_matrix(x, dtype=np.float32)
    else:
        array = x.detach().cpu().to_dense().numpy() if isinstance(x, Tensor) else np.asarray(x)
        if array.ndim != 2:
            raise InputError(
                f"features must have two dimensions, not {array.ndim}: [nodes, columns]"
            )
        try:
            # Writable, as torch wants it: a read-only array is copied.
            array = np.require(array, np.float32, ["C", "W"])
        except (TypeError, ValueError) as error:
            raise InputError(f"features must be numbers: {error}; encode text first") from None
        if np.count_nonzero(array) > BREAK_EVEN_DENSITY * array.size:
            _check_finite(array)
            return DenseFeatures(torch.from_numpy(array))
        matrix = sp.csr_matrix(array)
    matrix.sum_duplicates()
    _check_finite(matrix.data)
    if matrix.nnz > BREAK_EVEN_DENSITY * matrix.shape[0] * matrix.shape[1]:
        return DenseFeatures(torch.from_numpy(matrix.toarray()))
    return SparseFeatures(
        CSR(
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            matrix.shape[1],
            torch.from_numpy(matrix.data.astype(np.float32)),
        )
    )


def scaled_rows(features: Features, length: float = 1.0) -> Features:
    """The features with every row brought to one length; a row of zeros stays what it is.

    >>> scaled_rows(as_features([[3.0, 4.0], [0.0, 0.0]])).dense().tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    rows = features.scipy()
    found = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1))
    scale = np.divide(length, found, out=np.zeros_like(found), where=found > 0)
    return as_features(sp.diags(scale) @ rows)


def _check_finite(values: np.ndarray[Any, Any]) -> None:
    bad = values.size - int(np.isfinite(values).sum())
    if bad:
        raise InputError(
            f"features must be finite numbers, but {bad:,} are NaN or infinite: "
            "fill or drop those columns first"
        )
