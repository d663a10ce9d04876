"""The code of one column: fitted once, applied to any table that has the column."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from maskgae.base.errors import InputError
from maskgae.io.archives import Array
from maskgae.io.messages import listed, shown
from maskgae.io.numbers import as_numbers
from maskgae.io.tables import NodeTable
from maskgae.io.times import as_times

NUMBER_KINDS = ("binary", "sparse", "numeric", "date")
COLUMN_KINDS = (*NUMBER_KINDS, "one-hot", "words", "constant")

#: Text with more values than this is not one-hot.
MAX_VALUES = 30

#: Words that name a column of hashed ones, at most.
NAMED_WORDS = 3

#: More columns than this no table is spread over.
MAX_WIDTH = 10_000_000

#: What the width of a kind must be; words may have any.
_WIDTHS: dict[str, Callable[[Mapping[str, Any]], int]] = {
    **dict.fromkeys(NUMBER_KINDS, lambda code: 1),
    "one-hot": lambda code: len(code["values"]),
    "constant": lambda code: 0,
}

#: What stands between words: anything but letters, marks, digits and the underscore.
_BETWEEN = r"[^\pL\pM\pN_]+"


@dataclass(frozen=True)
class ColumnCode:
    r"""How a column becomes features.

    Args:
        name: of the column.
        kind: one of :data:`COLUMN_KINDS`.
        width: number of feature columns.
        centre: what is subtracted from a number.
        scale: what it is divided by then.
        fill: the number for a missing one, before that.
        values: of a one-hot column; of words the commonest ones of each feature column, to name it.
        missing: how many numbers were missing when it was fitted.
    """

    name: str
    kind: str
    width: int
    centre: float = 0.0
    scale: float = 1.0
    fill: float = 0.0
    values: tuple[str, ...] = ()
    missing: int = 0

    def encode(self, table: NodeTable, missing: str) -> Any:
        """The feature of a number ``[N]``, or the features of a text ``[N, width]``."""
        cells = table.columns[self.name]
        if self.kind == "one-hot":
            return _one_hot(_text(table, self.name), self.values)
        if self.kind == "words":
            return hashed_words(_text(table, self.name), self.width)
        values, wrong = (as_times if self.kind == "date" else as_numbers)(cells)
        if wrong is not None:
            what = "dates" if self.kind == "date" else "numbers"
            raise InputError(
                f"{table.path}: column {shown(self.name)} must have {what} as when it was fitted, "
                f"but {table.place_of_row(wrong)} has {shown(cells[wrong].as_py())}: mend it"
            )
        gaps = _gaps(table, self.name, values, missing)
        values = np.where(gaps, self.fill, values)
        with np.errstate(over="ignore"):  # what is infinite then is refused by Features
            return ((values - self.centre) / self.scale).astype(np.float32)

    def part_name(self, place: int) -> str:
        """What one of its feature columns is called.

        >>> ColumnCode("shop", "one-hot", 2, values=("east", "west")).part_name(1)
        'shop = west'
        """
        if self.kind == "one-hot":
            return f"{self.name} = {self.values[place]}"
        if self.kind == "words":
            words = self.values[place] if self.values else ""
            return f"{self.name}: {words or f'words of hash {place}'}"
        return self.name

    def summary(self, rule: str) -> str:
        """The kind, and what became of missing numbers."""
        return _summary(self.kind, self.missing, rule)


@dataclass(frozen=True)
class MatrixCode:
    """How a matrix becomes features: as it is, but for missing numbers.

    Args:
        width: number of its columns.
        fills: the number for a missing one by column; empty for zeros.
        missing: how many numbers were missing when it was fitted.
    """

    width: int
    fills: tuple[float, ...] = ()
    missing: int = 0
    name: ClassVar[str] = "matrix"
    kind: ClassVar[str] = "matrix"

    def encode(self, table: NodeTable, missing: str) -> Any:
        """The matrix ``[N, width]`` without gaps."""
        matrix = table.matrix
        assert matrix is not None
        if matrix.shape[1] != self.width:
            raise InputError(
                f"{table.path} must have the {self.width:,} columns that were fitted, but it has "
                f"{matrix.shape[1]:,}: give a matrix of that width"
            )
        gaps = _matrix_gaps(table, missing)
        if not gaps.size:
            return matrix
        matrix = matrix.copy()
        fills = np.array(self.fills or np.zeros(self.width))
        matrix[gaps[0], gaps[1]] = fills[gaps[1]]
        return matrix

    def part_name(self, place: int) -> str:
        """What one of its columns is called."""
        return f"column {place}"

    def summary(self, rule: str) -> str:
        """The kind, and what became of missing numbers."""
        return _summary(self.kind, self.missing, rule)


Code = TypeVar("Code", ColumnCode, MatrixCode)


def _summary(kind: str, missing: int, rule: str) -> str:
    return f"{kind} ({missing:,} missing: {rule})" if missing else kind


def fit_column(table: NodeTable, name: str, missing: str, text_width: int) -> ColumnCode:
    """The code of a column, chosen by what it holds."""
    values, wrong = as_numbers(table.columns[name])
    if wrong is None:
        return _fit_numbers(table, name, values, missing)
    days, wrong = as_times(table.columns[name])
    if wrong is None:
        return _fit_dates(table, name, days, missing)
    distinct = pc.unique(_text(table, name))
    words = sorted(set(distinct.to_pylist()) - {""}) if len(distinct) <= MAX_VALUES + 1 else None
    if words is not None and len(distinct) < 2:
        return ColumnCode(name, "constant", 0)
    if words is not None and len(words) <= min(MAX_VALUES, len(values) // 2):
        return ColumnCode(name, "one-hot", len(words), values=tuple(words))
    named = words_by_hash(_text(table, name), text_width)
    return ColumnCode(name, "words", text_width, values=named)


def fit_matrix(table: NodeTable, missing: str) -> MatrixCode:
    """The code of a matrix."""
    assert table.matrix is not None
    if table.matrix.shape[1] > MAX_WIDTH:
        raise InputError(
            f"{table.path}: a matrix may have {MAX_WIDTH:,} columns, but this one claims "
            f"{table.matrix.shape[1]:,}: drop those that are empty"
        )
    gaps = _matrix_gaps(table, missing)
    fills: tuple[float, ...] = ()
    if gaps.size and missing == "mean":
        present = table.matrix.astype(np.float64)
        present[gaps[0], gaps[1]] = 0
        rows, width = table.matrix.shape
        counts = np.maximum(rows - np.bincount(gaps[1], minlength=width), 1)
        fills = tuple((np.asarray(present.sum(0)).ravel() / counts).tolist())
    return MatrixCode(table.matrix.shape[1], fills, gaps.shape[1] if gaps.size else 0)


def checked_code(cls: type[Code], entry: Mapping[str, Any]) -> Code:
    """A code from its JSON; a field of another type or out of range is a ValueError."""
    rules: dict[str, Callable[[Any], bool]] = {
        "name": lambda x: isinstance(x, str),
        "kind": lambda x: x in COLUMN_KINDS,
        "width": lambda x: type(x) is int and 0 <= x <= MAX_WIDTH,
        "missing": lambda x: type(x) is int and x >= 0,
        "values": lambda x: all(isinstance(value, str) for value in x),
        "fills": lambda x: all(map(_is_finite, x)) and len(x) in (0, entry["width"]),
        "scale": lambda x: _is_finite(x) and x > 0,
        "centre": _is_finite,
        "fill": _is_finite,
    }
    known = {item.name for item in fields(cls)}
    if set(entry) != known:
        raise ValueError(f"fields {listed(set(entry) ^ known)}")
    for key, value in entry.items():
        if not rules[key](value):
            raise ValueError(f"{key} is {shown(value)}")
    values: dict[str, Any] = {k: tuple(x) if isinstance(x, list) else x for k, x in entry.items()}
    if values.get("kind") == "words" and len(values["values"]) not in (0, values["width"]):
        raise ValueError(f"values are {len(values['values']):,}")
    if values.get("kind") in _WIDTHS and values["width"] != _WIDTHS[values["kind"]](values):
        raise ValueError(f"width is {shown(values['width'])}")
    return cls(**values)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and bool(np.isfinite(value))


def hashed_words(cells: pa.ChunkedArray, width: int) -> sp.csr_matrix:
    """A one in column ``crc32(word) % width`` for each word of each cell, ``[N, width]``.

    >>> hashed_words(pa.chunked_array([["Graph graph", "", "a_1"]]), 8).toarray().sum(1).tolist()
    [1.0, 0.0, 1.0]
    """
    rows, columns, first = [], [], 0
    for chunk in cells.chunks:
        parts = pc.split_pattern_regex(pc.utf8_lower(chunk), _BETWEEN)
        words = pc.list_flatten(parts).dictionary_encode()
        hashes = [zlib.crc32(w.encode()) % width if w else -1 for w in words.dictionary.to_pylist()]
        column = np.array([*hashes, -1])[words.indices.to_numpy(zero_copy_only=False)]
        row = pc.list_parent_indices(parts).to_numpy(zero_copy_only=False) + first
        rows.append(row[column >= 0])
        columns.append(column[column >= 0])
        first += len(chunk)
    places = (np.concatenate([[], *rows]).astype(int), np.concatenate([[], *columns]).astype(int))
    matrix = sp.csr_matrix((np.ones(places[0].size, np.float32), places), shape=(first, width))
    matrix.data[:] = 1  # a word that is repeated counts once
    return matrix


def words_by_hash(cells: pa.ChunkedArray, width: int) -> tuple[str, ...]:
    """The commonest words of each column of :func:`hashed_words`, ``[width]``; ``/`` between them.

    >>> words_by_hash(pa.chunked_array([["a graph", "Graph b", "graph"]]), 1)
    ('graph/a/b',)
    """
    parts = pc.split_pattern_regex(pc.utf8_lower(cells), _BETWEEN)
    counted = pc.list_flatten(parts).value_counts()
    words, counts = counted.field("values").to_pylist(), counted.field("counts").to_numpy()
    columns: list[list[str]] = [[] for _ in range(width)]
    for place in np.argsort(-counts, kind="stable"):
        word = words[place]
        if word and len(column := columns[zlib.crc32(word.encode()) % width]) < NAMED_WORDS:
            column.append(word)
    return tuple("/".join(column) for column in columns)


def _fit_numbers(table: NodeTable, name: str, values: Array, missing: str) -> ColumnCode:
    if np.isnan(values).all():
        return ColumnCode(name, "constant", 0)
    gaps = _gaps(table, name, values, missing)
    present = values[~gaps]
    if present.size == 0:
        return ColumnCode(name, "constant", 0, missing=len(values))
    fill = float(present.mean()) if missing == "mean" else 0.0
    filled = np.where(gaps, fill, values)
    common: dict[str, Any] = {"fill": fill, "missing": int(gaps.sum())}
    if filled.min() == filled.max():
        return ColumnCode(name, "constant", 0, **common)
    if np.isin(present, (0, 1)).all():
        return ColumnCode(name, "binary", 1, **common)
    nonzero = present[present != 0]
    if 2 * nonzero.size <= present.size:
        scale = float(np.sqrt(np.mean(np.square(nonzero))))
        return ColumnCode(name, "sparse", 1, scale=_usable(scale), **common)
    return ColumnCode(
        name, "numeric", 1, float(filled.mean()), _usable(float(filled.std())), **common
    )


def _fit_dates(table: NodeTable, name: str, days: Array, missing: str) -> ColumnCode:
    """Days, standardised, whatever their distribution."""
    code = _fit_numbers(table, name, days, missing)
    if code.kind == "constant":
        return code
    filled = np.where(_is_gap(days), code.fill, days)
    centre, scale = float(filled.mean()), _usable(float(filled.std()))
    return replace(code, kind="date", centre=centre, scale=scale)


def _usable(scale: float) -> float:
    """Squares of tiny or huge numbers leave the range of floats; such a column is not scaled."""
    return scale if np.isfinite(scale) and scale > 0 else 1.0


def _is_gap(values: Array) -> Array:
    """What is not a number, infinite, or would be in the 32 bits of a feature."""
    return ~(np.abs(values) <= np.finfo(np.float32).max)


def _gaps(table: NodeTable, name: str, values: Array, missing: str) -> Array:
    """Which numbers are missing; an error that names the first where that is asked."""
    gaps = _is_gap(values)
    if missing == "error" and gaps.any():
        row = int(gaps.argmax())
        raise InputError(
            f"{table.path}: column {shown(name)} must have a number in every row, but "
            f"{table.place_of_row(row)} has {shown(table.columns[name][row].as_py())}: mend it, or "
            "let missing numbers be mean or zero (--missing)"
        )
    return gaps


def _matrix_gaps(table: NodeTable, missing: str) -> Array:
    """Row and column of each number that is missing or infinite, ``[2, gaps]``."""
    matrix = table.matrix
    assert matrix is not None
    if sp.issparse(matrix):
        entries = matrix.tocoo()
        wrong = _is_gap(entries.data)
        gaps = np.stack([entries.row[wrong], entries.col[wrong]])
    else:
        gaps = np.stack(np.nonzero(_is_gap(matrix)))
    if missing == "error" and gaps.size:
        raise InputError(
            f"{table.path}: a matrix must have numbers only, but row {gaps[0, 0]}, column "
            f"{gaps[1, 0]} (from 0) is missing or infinite: mend it, or let missing numbers be "
            "mean or zero"
        )
    return gaps


def _one_hot(cells: pa.ChunkedArray, values: tuple[str, ...]) -> sp.csr_matrix:
    found = pc.fill_null(pc.index_in(cells, value_set=pa.array(values, pa.string())), -1)
    column = np.asarray(found)
    row = np.flatnonzero(column >= 0)
    ones = np.ones(row.size, dtype=np.float32)
    return sp.csr_matrix((ones, (row, column[row])), shape=(len(column), len(values)))


def _text(table: NodeTable, name: str) -> pa.ChunkedArray:
    cells = table.columns[name]
    try:
        return pc.fill_null(cells.cast(pa.string()), "")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"{table.path}: column {shown(name)} has the type {cells.type}, of which no features "
            "are made: write numbers or text, or drop it"
        ) from error
