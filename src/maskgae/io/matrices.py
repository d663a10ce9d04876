"""Adjacency matrices: SciPy's ``.npz`` and Matrix Market's ``.mtx``.

Every row is a node, also one without entries; a stored zero is no edge. Ids are what the format
itself counts by: 0 to N - 1 in ``.npz``, 1 to N in ``.mtx``. Values other than 1 are weights. A
symmetric matrix says each weight twice, so each direction carries half of it: merged, they add up
to what was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maskgae.base.errors import InputError
from maskgae.data.pairs import is_symmetric
from maskgae.io.archives import Array, load_npz
from maskgae.io.messages import five_of, shown
from maskgae.io.mtx import read_mtx
from maskgae.io.numbers import check_weights
from maskgae.io.sources import File, open_file

#: A matrix may have this many rows, or more where it has that many entries per row at least.
_FREE_ROWS, _ENTRIES_A_ROW = 1_000_000, 0.05


@dataclass(frozen=True)
class Entries:
    """The entries of a square matrix; their values, where not all of them are 1.

    Shapes:
        - **edges:** ``[2, E]``
        - **values:** ``[E]``
    """

    num_rows: int
    edges: Array
    values: Array | None


def is_scipy(arrays: dict[str, Array]) -> bool:
    """Whether an archive holds a SciPy sparse matrix."""
    return {"format", "shape", "data"} <= arrays.keys()


def read_adjacency(file: File) -> Entries:
    """The entries of an adjacency matrix, each direction as it is stored."""
    matrix = read_mtx(file) if file.ending == ".mtx" else scipy_matrix(file, load_npz(file))
    rows, columns = matrix.shape
    if rows != columns:
        raise InputError(
            f"{file.path}: an adjacency matrix must be square, not {rows:,} by {columns:,}: "
            "write the edges of two kinds of nodes as a list of pairs"
        )
    check_rows(file, rows, matrix.nnz)
    present = matrix.data != 0
    edges = np.stack([matrix.row[present], matrix.col[present]]).astype(np.int64)
    values = matrix.data[present].astype(np.float64)
    check_weights(values, file.path, lambda entry: _place(edges, entry, file.ending))
    if np.all(values == 1):
        return Entries(rows, edges, None)
    return Entries(rows, edges, values / 2 if is_symmetric(edges, values, rows) else values)


def read_matrix(path: str | Path) -> sp.csr_matrix:
    """The sparse matrix in a ``.npz`` file of SciPy's ``save_npz``."""
    file = open_file(path, (".npz",))
    return scipy_matrix(file, load_npz(file)).tocsr()


def scipy_matrix(file: File, arrays: dict[str, Array]) -> sp.coo_matrix:
    """The matrix that SciPy's ``save_npz`` wrote, every index checked."""
    if not is_scipy(arrays):
        raise InputError(
            f"{file.path} must hold a sparse matrix saved by scipy.sparse.save_npz, but it holds "
            f"{five_of(list(arrays)) or 'nothing'}: save the matrix that way, or a list of pairs"
        )
    kind = _text(arrays["format"])
    shape = _shape(file, arrays["shape"])
    data = arrays["data"]
    if data.ndim != 1 or data.dtype.kind not in "biuf":
        raise _broken(file, f"data of type {data.dtype} and {data.ndim} dimensions")
    try:
        if kind == "coo":
            places = (arrays["row"], arrays["col"])
        elif kind in ("csr", "csc"):
            places = _expanded(file, arrays["indptr"], arrays["indices"], shape[kind == "csc"])
            places = places if kind == "csr" else places[::-1]
        else:
            raise InputError(
                f"{file.path} holds a matrix of format {shown(kind)}, but csr, csc or coo is "
                "needed: save matrix.tocsr()"
            )
    except KeyError as error:
        raise _broken(file, f"no array {error}") from error
    for place, size in zip(places, shape, strict=True):
        _check_indices(file, place, size, data.size)
    return sp.coo_matrix((data, places), shape=shape)


def check_rows(file: File, rows: int, entries: int) -> None:
    """Refuses a matrix that claims far more rows than it has entries: a row costs memory."""
    if rows > _FREE_ROWS and entries < _ENTRIES_A_ROW * rows:
        raise InputError(
            f"{file.path} claims {rows:,} nodes and has {entries:,} entries: leave out nodes "
            "without entries, or write a list"
        )


def _expanded(file: File, indptr: Array, indices: Array, num_rows: int) -> tuple[Array, Array]:
    """Row and column of each entry of compressed rows."""
    if indptr.shape != (num_rows + 1,) or indptr.dtype.kind not in "iu":
        raise _broken(file, "row pointers of another size")
    counts: Array = np.diff(indptr.astype(np.int64))
    if indptr[0] != 0 or (counts < 0).any() or indptr[-1] != indices.size:
        raise _broken(file, "row pointers that do not ascend to the number of entries")
    return np.repeat(np.arange(num_rows), counts), indices


def _check_indices(file: File, places: Array, size: int, entries: int) -> None:
    if places.shape != (entries,) or places.dtype.kind not in "iu":
        raise _broken(file, "as many indices as values are needed")
    if entries and not (places.min() >= 0 and places.max() < size):
        raise _broken(file, f"indices beyond {size:,}")


def _shape(file: File, shape: Array) -> tuple[int, int]:
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
        raise _broken(file, "shape is not two whole numbers")
    return int(shape[0]), int(shape[1])


def _text(value: Array) -> str:
    item: Any = value.item() if value.size == 1 else ""
    return item.decode("latin1") if isinstance(item, bytes) else str(item)


def _broken(file: File, reason: str) -> InputError:
    return file.not_what_it_says("a sparse matrix of SciPy", reason)


def _place(edges: Array, entry: int, ending: str) -> str:
    row, column = edges[:, entry] + int(ending == ".mtx")
    return f"row {row}, column {column}"


def matrix_ids(num_rows: int, ending: str) -> Sequence[int]:
    """What the rows are called: from 0 in NumPy's files, from 1 in Matrix Market's."""
    first = int(ending == ".mtx")
    return range(first, first + num_rows)
