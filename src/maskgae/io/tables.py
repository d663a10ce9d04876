"""Tables of what users know about nodes: a row for each id.

=====================  ====================================================================
.csv, .tsv, .txt       a header, an id column, other columns as text; may be gzipped
.parquet               an id column, other columns with types
.npy                   a matrix
.npz                   a matrix called ``features`` or ``x`` or the only one, or a sparse
                       matrix of SciPy; its ids may be an array ``ids`` beside it
=====================  ====================================================================

The id column is the one that is asked for, else ``id``, ``node``, ``node_id`` or ``name``, else the
first. Columns keep what the file says here; what they become is :mod:`~maskgae.io.\
encode`'s business. The rows of a matrix without ids are those of a given list, in its order, or of
the nodes 0 to N - 1 where the list has only such and leaves some out, or where there is no list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from maskgae.base.errors import InputError
from maskgae.io.archives import Array, load_npy, load_npz, pick_array
from maskgae.io.columns import ColumnName, Columns, checked_ids, find_column, id_column
from maskgae.io.ids import IdArray, as_ids, find_ids, repeated_ids
from maskgae.io.layout import find_layout
from maskgae.io.matrices import check_rows, is_scipy, scipy_matrix
from maskgae.io.messages import five_of, shown
from maskgae.io.parquet import ParquetTable
from maskgae.io.sources import File, open_file
from maskgae.io.text import TextTable

PACKED_ENDINGS = (".csv", ".tsv", ".txt")
NODE_ENDINGS = (*PACKED_ENDINGS, ".parquet", ".npy", ".npz")
ID_NAMES = ("id", "node", "node_id", "name")


def _row(row: int) -> str:
    return f"row {row + 1:,}"


@dataclass(frozen=True, eq=False)
class NodeTable:
    """What a file says about nodes: columns, or a matrix.

    Args:
        ids: of the rows, each once; int64, or object with strings.
        columns: by name, as strings or with a Parquet file's types; without the ids.
        matrix: instead of columns; an array or a SciPy sparse matrix.
        path: for messages.
        id_name: what the column of ids is called, where there are columns.
        place_of_row: where a row stands in the file, for messages.

    Shapes:
        - **ids:** ``[N]``
        - **matrix:** ``[N, D]``
    """

    ids: IdArray
    columns: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)
    matrix: Any = None
    path: Path = Path("table")
    id_name: str | None = None
    place_of_row: Callable[[int], str] = _row

    def __post_init__(self) -> None:
        if repeated := repeated_ids(self.ids):
            raise InputError(
                f"{self.path}: every id may have one row, but there are several of "
                f"{five_of(repeated)}: merge or drop them, or name another column by --id"
            )

    def rows_of(self, ids: IdArray) -> Array:
        """The row of each id; ids without a row are an error that names five."""
        rows = find_ids(ids, self.ids)
        missing = ids[rows < 0]
        if missing.size:
            way_out = "add them, or leave out the table"
            if missing.size == ids.size and self.id_name is not None:
                way_out = f"ids are those of column {shown(self.id_name)}, name another by --id"
            raise InputError(
                f"{self.path}: every node of the edges needs a row in the table, but there is "
                f"none for {five_of(missing.tolist())}: {way_out}"
            )
        return rows

    def note(self) -> list[str]:
        """The line that says where the ids come from, where that was a choice."""
        name = self.id_name
        return [] if name is None else [f"nodes by column {shown(name)} of {self.path.name}"]

    def __repr__(self) -> str:
        width = len(self.columns) if self.matrix is None else self.matrix.shape[1]
        return f"NodeTable(rows={len(self.ids)}, columns={width})"


def read_nodes(
    path: str | Path,
    id_column: ColumnName | None = None,
    *,
    ids: Iterable[Any] | None = None,
    header: bool = True,
    sep: str | None = None,
) -> NodeTable:
    """Reads a table of nodes; the ending says how.

    Args:
        path: the file.
        id_column: the column of ids, by name or by place from 0.
        ids: what the rows of a matrix are called, in their order, unless its file says so; a
            table of columns always does.
        header: whether the first row of a text file has names; else they are the places.
        sep: what separates the cells of a text file; guessed where it is not given.
    """
    file = open_file(path, NODE_ENDINGS, PACKED_ENDINGS)
    if file.ending in (".npy", ".npz"):
        if id_column is not None:
            raise InputError(
                f"{path} is a matrix, which has no column {shown(id_column)} of ids: leave out --id"
            )
        return _from_arrays(file, ids)
    columns: Columns = ParquetTable(file)
    if file.ending != ".parquet":
        columns = TextTable(file, find_layout(file, sep=sep, header=header))
    return _from_columns(columns, id_column)


def read_ids(path: str | Path) -> IdArray:
    """A list of ids: a text file with one id a line, or a ``.npy`` array."""
    file = open_file(path, (".txt", ".csv", ".npy"))
    if file.ending == ".npy":
        return _id_array(file, load_npy(file))
    file.check_text()
    try:
        lines = file.content().decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must be text in UTF-8, but it is not: convert it") from error
    return as_ids([line for line in lines if line])


def _from_columns(columns: Columns, asked: ColumnName | None) -> NodeTable:
    names, path = columns.names, columns.file.path
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{path}: columns must have different names, but there are several called "
            f"{five_of(repeated)}: rename them"
        )
    place = _id_place(columns) if asked is None else find_column(columns, asked)
    cells = columns.read(range(len(names)))
    if len(cells[0]) == 0:
        raise InputError(f"{path} has names of columns but no rows: check the file")
    ids = as_ids(id_column(columns, place, cells[place]))
    checked_ids(columns.file, ids, strip=False)
    others = {name: cells[i] for i, name in enumerate(names) if i != place}
    return NodeTable(ids, others, None, path, names[place], columns.place_of_row)


def _id_place(columns: Columns) -> int:
    lowered = [name.lower() for name in columns.names]
    return next((lowered.index(name) for name in ID_NAMES if name in lowered), 0)


def _from_arrays(file: File, ids: Iterable[Any] | None) -> NodeTable:
    matrix: Any
    own_ids = None
    if file.ending == ".npy":
        matrix = load_npy(file)
    else:
        arrays = load_npz(file)
        own_ids = arrays.pop("ids", None)
        if is_scipy(arrays):
            matrix = scipy_matrix(file, arrays)
            check_rows(file, matrix.shape[0], matrix.nnz)
            matrix = matrix.tocsr()
        else:
            matrix = pick_array(file, arrays, ("features", "x"))
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise InputError(
            f"{file.path}: features must be a matrix of numbers with a row for each node, not "
            f"{matrix.dtype} of shape {list(matrix.shape)}: save one"
        )
    names = _id_array(file, own_ids) if own_ids is not None else _row_names(matrix.shape[0], ids)
    if len(names) != matrix.shape[0]:
        raise InputError(
            f"{file.path}: every row needs an id, but there are {matrix.shape[0]:,} rows and "
            f"{len(names):,} ids: give as many ids, in the order of the rows"
        )
    return NodeTable(names, matrix=matrix, path=file.path)


def _row_names(count: int, ids: Iterable[Any] | None) -> IdArray:
    """The given ids, or the numbers of the rows where the ids are some of those, not all."""
    numbers = np.arange(count, dtype=np.int64)
    if ids is None:
        return numbers
    given = as_ids(ids)
    whole = given.dtype != object and 0 < len(given) < count
    return numbers if whole and given.min() >= 0 and given.max() < count else given


def _id_array(file: File, array: Array) -> IdArray:
    if array.ndim != 1 or array.dtype.kind not in "iuUS":
        raise InputError(
            f"{file.path}: ids must be one row of strings or integers, not {array.dtype} of shape "
            f"{list(array.shape)}: save them so"
        )
    if array.dtype.kind == "S":
        try:
            array = np.char.decode(array, "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{file.path}: ids must be UTF-8 ({shown(error.reason)})") from error
    return as_ids(array.tolist() if array.dtype.kind == "U" else array)
