"""Edge lists of users: one function for every format, chosen by the file's ending.

=====================  ====================================================================
.csv, .tsv             text, see :mod:`~maskgae.io.layout`; may be gzipped
.txt, .edges, .el      text, separated by blanks or tabs, ``#`` comments; may be gzipped
.parquet               columns of strings or integers
.npz                   a sparse adjacency matrix of SciPy
.mtx                   Matrix Market; may be gzipped
.graphml               node ids, edges and weights; may be gzipped
=====================  ====================================================================

In a table the ends of an edge are the columns that are asked for, else ``source,target``,
``src,dst`` or ``from,to``, else the first two; weights are the column that is asked for, else the
one called ``weight``. Repeated edges stay here as they are; :func:`~maskgae.io.build.\
build_graph` merges them and adds up their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from maskgae.base.errors import InputError
from maskgae.io.columns import (
    ColumnName,
    Columns,
    checked_ids,
    choose_ends,
    choose_weight,
    columns_note,
    end_column,
)
from maskgae.io.graphml import read_graphml
from maskgae.io.ids import IdArray, encode_ids, number_edges
from maskgae.io.layout import find_layout
from maskgae.io.matrices import matrix_ids, read_adjacency
from maskgae.io.messages import shown
from maskgae.io.numbers import parse_weights
from maskgae.io.parquet import ParquetTable
from maskgae.io.sources import File, open_file
from maskgae.io.text import TextTable
from maskgae.io.times import parse_times

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".edges", ".el")
PACKED_ENDINGS = (*TEXT_ENDINGS, ".mtx", ".graphml")
EDGE_ENDINGS = (*PACKED_ENDINGS, ".parquet", ".npz")


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges as a user's file has them, with the nodes numbered.

    Args:
        ids: what the nodes are called; int64, or object with strings. Ascending.
        edges: the ends of each edge as numbers of ids; loops and repetitions included.
        weights: of each edge.
        name: what to call the graph.
        notes: what was guessed or is worth a look, one line each.
        sides: what the columns of the two ends are called, where there are columns.
        times: when each edge came about.

    Shapes:
        - **ids:** ``[N]``
        - **edges:** ``[2, E]``
        - **weights**, **times:** ``[E]``
    """

    ids: IdArray
    edges: np.ndarray[Any, Any]
    weights: np.ndarray[Any, Any] | None = None
    name: str = "graph"
    notes: tuple[str, ...] = ()
    sides: tuple[str, str] | None = None
    times: np.ndarray[Any, Any] | None = None

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        return f"EdgeTable(nodes={len(self.ids)}, edges={self.edges.shape[1]}{weighted})"


def read_edges(
    path: str | Path,
    *,
    source: ColumnName | None = None,
    target: ColumnName | None = None,
    weight: ColumnName | Literal[False] | None = None,
    header: bool | None = None,
    sep: str | None = None,
    comment: str | None = None,
    strip: bool | None = None,
    time: str | None = None,
) -> EdgeTable:
    """Reads a list of edges or an adjacency matrix; the ending says which.

    Args:
        path: the file.
        source: the column of one end, by name or by place from 0.
        target: the column of the other end.
        weight: the column of weights, or the edges' attribute in GraphML; False for none.
        header: whether the first row of a text file has names; guessed where it is not given.
        sep: what separates the cells of a text file; guessed where it is not given.
        comment: what begins a line to skip; ``#`` where blanks separate, else nothing.
        strip: whether to cut blanks around ids. Where it is not given they are kept, but ids that
            differ by nothing else are an error.
        time: the column of times, where the file has it.

    Raises:
        InputError: in one line, with the way out.
    """
    layout = {"sep": sep, "comment": comment, "header": header}
    return _read(path, (source, target), weight, strip, layout, time)


def read_id_pairs(
    path: str | Path,
    *,
    source: ColumnName | None = None,
    target: ColumnName | None = None,
    strip: bool | None = None,
    weight: ColumnName | Literal[False] | None = False,
    **layout: Any,
) -> tuple[IdArray, IdArray]:
    """The two columns of a list of pairs as ids, in the order of the file: ``[P]``, ``[P]``.

    What is asked about need not repeat, so no header is guessed from what does.
    """
    table = _read(path, (source, target), weight, strip, {**layout, "repeats": False})
    return table.ids[table.edges[0]], table.ids[table.edges[1]]


def _read(
    path: str | Path,
    ends: tuple[ColumnName | None, ColumnName | None],
    weight: ColumnName | Literal[False] | None,
    strip: bool | None,
    layout: dict[str, Any],
    time: str | None = None,
) -> EdgeTable:
    file = open_file(path, EDGE_ENDINGS, PACKED_ENDINGS)
    if file.ending in (".npz", ".mtx"):
        table = _from_matrix(file, weight)
    elif file.ending == ".graphml":
        table = _from_graphml(file, weight)
    else:
        asked = [name for name in (*ends, weight, time) if isinstance(name, str)]
        columns = open_columns(file, **layout, asked=asked)
        table = _from_columns(columns, *ends, weight, strip, time)
    if table.edges.shape[1] == 0:
        raise InputError(f"{path} has 0 edges, and a graph needs one at least: check the file")
    return table


def open_columns(file: File, **layout: Any) -> Columns:
    """A table of text or of Parquet whose rows are not read yet."""
    if file.ending == ".parquet":
        return ParquetTable(file)
    return TextTable(file, find_layout(file, **layout))


def _from_columns(
    columns: Columns,
    source: ColumnName | None,
    target: ColumnName | None,
    weight: ColumnName | Literal[False] | None,
    strip: bool | None,
    time: str | None,
) -> EdgeTable:
    ends = choose_ends(columns, source, target)
    weight_place = choose_weight(columns, weight, ends)
    time_place = columns.names.index(time) if time in columns.names else None
    places = [*ends, *(place for place in (weight_place, time_place) if place is not None)]
    cells = columns.read(places)
    checked = [end_column(columns, place, cells[i], strip) for i, place in enumerate(ends)]
    if checked[0].type != checked[1].type:
        checked = [column.cast(pa.string()) for column in checked]
    ids, edges = number_edges(checked[0], checked[1])
    notes = [columns_note(columns, ends, weight_place), *checked_ids(columns.file, ids, strip)]
    weights = None
    if weight_place is not None:
        weights = parse_weights(cells[2], columns.file.path, columns.place_of_row)
    name, sides, times = file_stem(columns.file), side_names(columns, ends), None
    if time_place is not None:
        times = parse_times(cells[-1], columns.file.path, columns.place_of_row)
    return EdgeTable(ids, edges, weights, name, tuple(notes), sides, times)


def side_names(columns: Columns, ends: tuple[int, int]) -> tuple[str, str]:
    """What the two ends of an edge are called: as their columns, or by what they are."""
    if not columns.named:
        return "source", "target"
    return columns.names[ends[0]], columns.names[ends[1]]


def _from_matrix(file: File, weight: ColumnName | Literal[False] | None) -> EdgeTable:
    entries = read_adjacency(file)
    ids = np.array(matrix_ids(entries.num_rows, file.ending), dtype=np.int64)
    weights = None if weight is False else entries.values
    note = f"{len(ids):,} rows of a matrix are the nodes {_first_to_last(ids)}"
    return EdgeTable(ids, entries.edges, weights, file_stem(file), (note,))


def _from_graphml(file: File, weight: ColumnName | Literal[False] | None) -> EdgeTable:
    name = None if weight is False else str("weight" if weight is None else weight)
    found = read_graphml(file, name)
    if weight and not found.weighted:
        raise InputError(f"{file.path} declares no edge attribute {shown(weight)}: check the name")
    cells = [found.sources, found.targets, found.nodes]
    ids, codes = encode_ids(pa.chunked_array([pa.array(part, pa.string()) for part in cells]))
    notes = checked_ids(file, ids, strip=False)
    if found.graphs > 1:
        notes.append(f"{found.graphs:,} graphs are read as one: equal ids in them are one node")
    edges = codes[: 2 * len(found.sources)].reshape(2, -1)
    weights = None
    if found.weighted:
        cell = pa.array(found.weights, pa.string())
        weights = parse_weights(cell, file.path, lambda row: f"line {found.lines[row]:,}")
    return EdgeTable(ids, edges, weights, file_stem(file), tuple(notes))


def _first_to_last(ids: IdArray) -> str:
    return f"{ids[0]} to {ids[-1]}" if len(ids) else "of none"


def file_stem(file: File) -> str:
    """What a graph is called by its file."""
    return file.path.name.split(".")[0] or file.path.name
