"""From what was read to a graph: edges and table meet by id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from maskgae.base.errors import InputError
from maskgae.data.clock import first_times
from maskgae.data.graph import Graph
from maskgae.io.edges import EdgeTable
from maskgae.io.encode import TableEncoder, encode_labels
from maskgae.io.ids import IdArray, as_arrow, encode_ids, find_ids
from maskgae.io.kinds import (
    NONE,
    FoundTypes,
    Kinds,
    found_sides,
    one_way_note,
    side_flags,
    table_types,
)
from maskgae.io.messages import shown
from maskgae.io.tables import NodeTable
from maskgae.io.times import parse_times

PLAIN = Kinds()


@dataclass(frozen=True, eq=False)
class BuiltGraph:
    """A graph and what its nodes and classes are called.

    Args:
        graph: on the nodes 0 to N - 1.
        ids: of the nodes, ``[N]``; int64, or object with strings. Ascending.
        label_names: of the classes.
        notes: what was guessed, done and counted, one line each.
    """

    graph: Graph
    ids: IdArray
    label_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def build_graph(
    edges: EdgeTable,
    nodes: NodeTable | None = None,
    encoder: TableEncoder | None = None,
    kinds: Kinds = PLAIN,
) -> BuiltGraph:
    """The graph of a list of edges, with the features and labels of a table.

    A node of the table without edges is kept; a node of the edges without a row in the table is
    an error that names five.

    Args:
        edges: what :func:`~maskgae.io.edges.read_edges` returned.
        nodes: what :func:`~maskgae.io.tables.read_nodes` returned.
        encoder: how the table becomes features; without it there are none.
        kinds: what is said of the kind of graph.
    """
    ids, ends, notes = edges.ids, edges.edges, list(edges.notes)
    features = labels = None
    names: tuple[str, ...] = ()
    number = np.arange(len(ids))
    if nodes is not None:
        ids, number = table_ids(nodes, edges.ids)
        ends = find_ids(edges.ids, ids)[ends]
        alone = len(ids) - np.unique(ends).size
        notes += nodes.note()
        notes += [f"{alone:,} nodes of the table have no edge and are kept"] if alone else []
    since = times = None
    if kinds.time is not None:
        times, since, said = _times(edges, nodes, ids, ends, kinds.time)
        order = np.argsort(since, kind="stable")
        rank = np.argsort(order)
        ids, ends, since, number = ids[order], rank[ends], since[order], rank[number]
        notes.append(said)
    if nodes is not None and encoder is not None:
        features = encoder.transform(nodes, ids)
        if encoder.label is not None and encoder.label in nodes.columns:
            found = encode_labels(nodes, encoder.label)
            labels, names = np.empty_like(found.codes), found.names
            labels[number] = found.codes
    graph = Graph.from_edges(
        ends,
        len(ids),
        features=features,
        labels=labels,
        weights=edges.weights,
        name=edges.name,
        directed=kinds.directed,
    )
    if times is not None:
        keys = ends.min(0) * np.int64(len(ids)) + ends.max(0)
        proper = ends[0] != ends[1]
        place = np.searchsorted(graph.keys.numpy(), keys[proper])
        graph = graph.with_times(first_times(place, times[proper], graph.num_pairs), since)
    graph, about = _with_types(graph, edges.sides, ends, nodes, ids, kinds)
    return BuiltGraph(graph, ids, names, (*notes, *about, str(graph.cleaning)))


def _times(
    edges: EdgeTable,
    nodes: NodeTable | None,
    ids: IdArray,
    ends: np.ndarray[Any, Any],
    column: str,
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], str]:
    """When each edge and each node came about, and what to say of it, ``[E]``, ``[N]``."""
    if edges.times is not None:
        times, where = edges.times, "the edges"
        since = first_times(ends.reshape(-1), np.tile(times, 2), len(ids))
    elif nodes is not None and column in nodes.columns:
        cells, where = nodes.columns[column], "the nodes: an edge is as old as its later end"
        since = parse_times(cells, nodes.path, nodes.place_of_row)[nodes.rows_of(ids)]
        times = since[ends].max(0)
    else:
        there = "" if nodes is None else f" nor {nodes.path}"
        raise InputError(
            f"--time names a column of the edges or of --nodes, but neither {edges.name}{there} "
            f"has {shown(column)}: check the name"
        )
    said = f"times from column {shown(column)} of {where}, {times.min():g} to {times.max():g}"
    return times, since, said


def _with_types(
    graph: Graph,
    sides: tuple[str, str] | None,
    ends: np.ndarray[Any, Any],
    nodes: NodeTable | None,
    ids: IdArray,
    kinds: Kinds,
) -> tuple[Graph, list[str]]:
    """The graph with the types that are asked for or found, and what to say of them."""
    if kinds.type == NONE:
        return graph, []
    if kinds.type is not None:
        found: Any = table_types(nodes, ids, kinds.type)
    else:
        found = found_sides(sides, side_flags(ends, len(ids)), graph.num_pairs)
    if not isinstance(found, FoundTypes):
        notes = [found] if found else []
        if not kinds.directed:
            forward = int(np.count_nonzero(ends[0] < ends[1]))
            one_way = graph.cleaning.symmetrised
            notes += one_way_note(ends.shape[1], forward, graph.num_pairs, one_way)
        return graph, notes
    return graph.with_types(found.codes, found.names, found.column), [found.note]


def table_ids(nodes: NodeTable, needed: IdArray) -> tuple[IdArray, np.ndarray[Any, Any]]:
    """The ids of a table, ascending, and the number of each of its rows.

    Every id that is needed must have a row; the error names five that have none.
    """
    nodes.rows_of(needed)
    return encode_ids(pa.chunked_array([as_arrow(nodes.ids)]))
