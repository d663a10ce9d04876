"""From what was read to a graph: edges and table meet by id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

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
from maskgae.io.tables import NodeTable

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
    if nodes is not None:
        ids, number = table_ids(nodes, edges.ids)
        ends = find_ids(edges.ids, ids)[ends]
        alone = len(ids) - np.unique(ends).size
        notes += nodes.note()
        notes += [f"{alone:,} nodes of the table have no edge and are kept"] if alone else []
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
    graph, said = _with_types(graph, edges.sides, ends, nodes, ids, kinds)
    return BuiltGraph(graph, ids, names, (*notes, *said, str(graph.cleaning)))


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
