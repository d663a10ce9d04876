"""Edges of a file some at a time, for files that are larger than memory.

Text and Parquet files are read in batches. Matrices and GraphML have to be read whole; they come in
batches all the same, so that whoever asks need not care.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskgae.base.errors import RunError
from maskgae.base.sizes import CHUNK_PAIRS, READ_ROWS
from maskgae.io.columns import (
    ColumnName,
    Columns,
    checked_ids,
    choose_ends,
    choose_weight,
    columns_note,
    end_column,
)
from maskgae.io.edges import (
    EDGE_ENDINGS,
    PACKED_ENDINGS,
    EdgeTable,
    file_stem,
    open_columns,
    read_edges,
    side_names,
)
from maskgae.io.ids import IdArray, as_arrow, as_ids
from maskgae.io.numbers import parse_weights
from maskgae.io.sources import open_file

Array = np.ndarray[Any, Any]

#: Two columns of ids, and weights where there are any.
EdgeBatch = tuple[pa.ChunkedArray, pa.ChunkedArray, Array | None]


@dataclass(frozen=True)
class TableFlow:
    """The edges of a table, read anew each time they are asked for."""

    columns: Columns
    ends: tuple[int, int]
    weight: int | None
    strip: bool | None = None

    @property
    def name(self) -> str:
        return file_stem(self.columns.file)

    @property
    def weighted(self) -> bool:
        return self.weight is not None

    @property
    def sides(self) -> tuple[str, str] | None:
        return side_names(self.columns, self.ends)

    def ids(self) -> IdArray:
        """All ids, ascending, ``[N]``."""
        found = DistinctIds()
        for source, target, _ in self.batches():
            found.add(source)
            found.add(target)
        return found.sorted()

    def notes(self, ids: IdArray) -> list[str]:
        """What was guessed or is worth a look, given all ids."""
        checked = checked_ids(self.columns.file, ids, self.strip)
        return [columns_note(self.columns, self.ends, self.weight), *checked]

    def batches(self) -> Iterator[EdgeBatch]:
        first = 0
        places = [*self.ends, *([] if self.weight is None else [self.weight])]
        for cells in self.columns.batches(places):
            later = _Later(self.columns, first)
            source, target = (end_column(later, self.ends[i], cells[i], self.strip) for i in (0, 1))
            weights = None
            if self.weight is not None:
                weights = parse_weights(cells[2], self.columns.file.path, later.place_of_row)
            yield source, target, weights
            first += len(source)


@dataclass(frozen=True)
class WholeFlow:
    """The edges of a file that was read whole."""

    table: EdgeTable

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def weighted(self) -> bool:
        return self.table.weights is not None

    @property
    def sides(self) -> tuple[str, str] | None:
        return self.table.sides

    def ids(self) -> IdArray:
        return self.table.ids

    def notes(self, ids: IdArray) -> list[str]:
        return list(self.table.notes)

    def batches(self) -> Iterator[EdgeBatch]:
        ids, edges, weights = as_arrow(self.table.ids), self.table.edges, self.table.weights
        for start in range(0, edges.shape[1], READ_ROWS):
            part = slice(start, start + READ_ROWS)
            source, target = (pa.chunked_array([ids.take(pa.array(e[part]))]) for e in edges)
            yield source, target, None if weights is None else weights[part]


EdgeFlow = TableFlow | WholeFlow


def open_edges(
    path: str | Path,
    *,
    source: ColumnName | None = None,
    target: ColumnName | None = None,
    weight: ColumnName | Literal[False] | None = None,
    strip: bool | None = None,
    **layout: Any,
) -> EdgeFlow:
    """The edges of a file of any format that :func:`read_edges` reads, with its arguments."""
    file = open_file(path, EDGE_ENDINGS, PACKED_ENDINGS)
    if file.ending in (".npz", ".mtx", ".graphml"):
        return WholeFlow(read_edges(path, weight=weight))
    asked = [str(name) for name in (source, target, weight) if isinstance(name, str)]
    columns = open_columns(file, asked=asked, **layout)
    ends = choose_ends(columns, source, target)
    return TableFlow(columns, ends, choose_weight(columns, weight, ends), strip)


@dataclass(frozen=True)
class _Later:
    """A table whose rows are counted from a later one on, for error messages."""

    columns: Columns
    first: int

    def __getattr__(self, name: str) -> Any:
        return getattr(self.columns, name)

    def place_of_row(self, row: int) -> str:
        return self.columns.place_of_row(self.first + row)


@dataclass
class DistinctIds:
    """The different ids of many columns: integers while all are canonical ones, else strings.

    >>> found = DistinctIds()
    >>> for cells in (["10", "9"], ["9", "2"]):
    ...     found.add(pa.chunked_array([cells]))
    >>> found.sorted().tolist()
    [2, 9, 10]
    >>> found.add(pa.chunked_array([["02"]]))
    >>> found.sorted().tolist()
    ['02', '10', '2', '9']
    """

    known: pa.Array = field(default_factory=lambda: pa.array([], pa.int64()))
    waiting: list[pa.Array] = field(default_factory=list)

    def add(self, cells: pa.ChunkedArray) -> None:
        numbers = as_integers(cells)
        self.waiting.append(_distinct(cells if numbers is None else numbers))
        # Merged whenever there is as much that waits as is known: each id is moved a few times.
        if sum(map(len, self.waiting)) > max(len(self.known), CHUNK_PAIRS):
            self._merge()

    def sorted(self) -> IdArray:
        """All of them, ascending, ``[N]``."""
        self._merge()
        ids = as_ids(self.known)
        order = np.argsort(ids) if ids.dtype == np.int64 else pc.array_sort_indices(self.known)
        return ids[np.asarray(order)]

    def _merge(self) -> None:
        parts = [self.known, *self.waiting]
        if len({str(part.type) for part in parts}) > 1:
            parts = [part.cast(pa.string()) for part in parts]
        self.known, self.waiting = _distinct(pa.chunked_array(parts)), []


class Numbering:
    """Looks up the numbers of ids, which are their places among the known ones.

    Args:
        ids: the known ones, ascending, ``[N]``.
        path: the file that is read, for the message about an id that is not among them.

    >>> number = Numbering(np.array([2, 9, 10]), Path("edges.csv"))
    >>> number(pa.chunked_array([[10, 2]]))
    array([2, 0])
    """

    def __init__(self, ids: IdArray, path: Path) -> None:
        self.path = path
        self.integers = ids if ids.dtype == np.int64 else None
        self.words = as_arrow(ids) if self.integers is None else None
        first, last = (int(ids[0]), int(ids[-1])) if self.integers is not None else (0, -1)
        self.first = first if last - first + 1 == len(ids) else None

    def __call__(self, cells: pa.ChunkedArray) -> Array:
        """The number of each id; one that is not known was not there when the ids were read."""
        if self.integers is None:
            found = pc.index_in(cells.cast(pa.string()), value_set=self.words)
            if found.null_count:
                raise changed(self.path)
            return np.asarray(found).astype(np.int64)
        numbers = as_integers(cells)
        if numbers is None:
            raise changed(self.path)
        return self._places(self.integers, numbers.cast(pa.int64()).to_numpy())

    def _places(self, known: IdArray, values: Array) -> Array:
        if values.size and (values.min() < known[0] or values.max() > known[-1]):
            raise changed(self.path)
        if self.first is not None:
            return values - self.first
        places = np.searchsorted(known, values)
        if not np.array_equal(known[places], values):
            raise changed(self.path)
        return places


def changed(path: Path) -> RunError:
    """The error about a file that is not what it was when it was first read."""
    return RunError(
        f"{path} has changed while it was read, and nothing was finished: begin again with the "
        "same command once nothing writes to it any more"
    )


def as_integers(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Ids as integers where all are written in the canonical way, else nothing."""
    if pa.types.is_integer(cells.type):
        return cells
    try:
        numbers = cells.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    same = pc.all(pc.equal(numbers.cast(pa.string()), cells), min_count=0).as_py()
    return numbers if same else None


def _distinct(cells: Any) -> pa.Array:
    if pa.types.is_integer(cells.type):
        ordered = np.sort(cells.to_numpy())  # np.unique would hash, which is slower here
        first = np.ones(ordered.size, dtype=np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
        return pa.array(ordered[first])
    return pc.unique(cells)
