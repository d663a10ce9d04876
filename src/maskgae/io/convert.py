"""Whatever a user holds as a graph, made one of ours."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maskgae.base.errors import InputError
from maskgae.data.features import as_features
from maskgae.data.graph import Graph
from maskgae.data.labels import as_labels
from maskgae.io.hetero import from_hetero
from maskgae.io.kinds import FoundTypes, found_sides, side_flags
from maskgae.io.layout import KNOWN_PAIRS


def as_graph(
    graph: Any, features: Any = None, labels: Any = None, directed: bool = False
) -> tuple[Graph, NDArray[Any], tuple[str, ...]]:
    """A graph, what its nodes are called, and what its classes are.

    Args:
        graph: a :class:`Graph`, PyG ``Data``, a SciPy sparse matrix, a NetworkX graph, a pandas
            frame of edges, an edge array ``[2, E]`` or ``[E, 2]``, or a list of pairs, which may
            be of strings.
        features: a row for each node, in the order of the returned names; the rows of a pandas
            frame go by its index where that has the names.
        labels: a class for each node, as numbers from 0 on or as words; unknown is -1 or ``None``.
        directed: whether edges go from the first end to the second.

    >>> import networkx
    >>> graph, names, _ = as_graph(networkx.Graph([("ann", "bob"), ("bob", "cyd")]))
    >>> graph, names.tolist()
    (Graph(nodes=3, pairs=2), ['ann', 'bob', 'cyd'])
    """
    made, names = _converted(graph, features, directed)
    if features is not None:
        made = replace(made, features=as_features(_in_order(features, names)))
    classes: tuple[str, ...] = ()
    if labels is not None:
        codes, classes = _classes(labels)
        made = replace(made, labels=as_labels(codes))
    return made, names, classes


def _classes(labels: Any) -> tuple[Any, tuple[str, ...]]:
    """Classes as numbers, and what they are called where they were words."""
    found = np.asarray(labels)
    if found.dtype.kind not in "OUS":
        return labels, ()
    words = [None if _is_missing(name) else str(name) for name in found.tolist()]
    known = sorted({word for word in words if word is not None})
    number = {name: code for code, name in enumerate(known)}
    return np.array([-1 if word is None else number[word] for word in words]), tuple(known)


def _is_missing(name: Any) -> bool:
    """Whether it is ``None`` or NaN, as pandas has where there is nothing."""
    return name is None or (isinstance(name, float) and name != name)


def _converted(graph: Any, features: Any, directed: bool) -> tuple[Graph, NDArray[Any]]:
    if isinstance(graph, Graph):
        if directed and not graph.directed:
            raise InputError("this graph has lost its directions: Graph.from_edges(directed=True)")
        return graph, np.arange(graph.num_nodes)
    if hasattr(graph, "edge_types"):
        return from_hetero(graph, directed)
    if _is_networkx(graph):
        made = Graph.from_networkx(graph, directed=directed)
        return _sides_of_networkx(made, graph), _names(list(graph))
    if sp.issparse(graph):
        made = Graph.from_scipy(graph, directed=directed)
        return made, np.arange(made.num_nodes)
    if hasattr(graph, "edge_index"):
        made = Graph.from_pyg(graph, directed=directed)
        return made, np.arange(made.num_nodes)
    if hasattr(graph, "columns") and hasattr(graph, "to_numpy"):
        return _from_frame(graph, directed)
    if isinstance(graph, np.ndarray) and graph.dtype.kind in "OUS":
        graph = graph.tolist()
    if isinstance(graph, list | tuple) and _is_named(graph):
        return _from_names(graph, directed)
    rows = None if features is None else as_features(features).num_rows
    made = Graph.from_edges(graph, rows, directed=directed)
    return made, np.arange(made.num_nodes)


def _is_networkx(graph: Any) -> bool:
    networkx = sys.modules.get("networkx")  # whoever holds a graph of it has imported it
    return networkx is not None and isinstance(graph, networkx.Graph)


def _sides_of_networkx(made: Graph, graph: Any) -> Graph:
    """With the sides of NetworkX's attribute ``bipartite``, where every node has it."""
    sides = [side for _, side in graph.nodes(data="bipartite")]
    if not sides or any(side is None for side in sides):
        return made
    names, codes = np.unique(np.array([str(side) for side in sides]), return_inverse=True)
    return made.with_types(codes, names.tolist())


def _from_frame(frame: Any, directed: bool) -> tuple[Graph, NDArray[Any]]:
    columns = [str(name).lower() for name in frame.columns]
    if len(columns) < 2:
        raise InputError(f"a frame of edges needs two columns, but this one has {len(columns)}")
    known = (pair for pair in KNOWN_PAIRS if set(pair) <= set(columns))
    places = next(([columns.index(name) for name in pair] for pair in known), [0, 1])
    ends = frame.iloc[:, places]
    if ends.isna().any(axis=None):
        row = ends.isna().any(axis=1).to_numpy().argmax()
        raise InputError(f"an edge needs two ends, but row {row:,} of the frame lacks one: drop it")
    source, target = (ends.iloc[:, place].to_numpy() for place in (0, 1))
    try:
        names, codes = np.unique(np.concatenate([source, target]), return_inverse=True)
    except TypeError:
        raise InputError(
            "the ends of a frame's edges must be of one kind, but some are numbers and some are "
            "not: convert the columns, for example by astype(str)"
        ) from None
    weights = frame.iloc[:, columns.index("weight")].to_numpy() if "weight" in columns else None
    ends = codes.reshape(2, -1)
    made = Graph.from_edges(ends, names.size, weights=weights, directed=directed)
    titles = str(frame.columns[places[0]]), str(frame.columns[places[1]])
    sides = found_sides(titles, side_flags(ends, names.size), made.num_pairs)
    if isinstance(sides, FoundTypes):
        made = made.with_types(sides.codes, sides.names)
    return made, names


def _is_named(edges: Any) -> bool:
    """Whether a list of pairs calls its nodes by words."""
    return any(isinstance(end, str) for edge in edges for end in np.atleast_1d(edge))


def _from_names(edges: Any, directed: bool) -> tuple[Graph, NDArray[Any]]:
    if any(isinstance(edge, str) or len(edge) != 2 for edge in edges):
        raise InputError("an edge is a pair of names, such as ('ann', 'bob'): give a list of those")
    if any(_is_missing(end) for edge in edges for end in edge):
        raise InputError("an edge needs two ends, but one of the list has None or NaN: drop it")
    names = sorted({str(end) for edge in edges for end in edge})
    number = {name: place for place, name in enumerate(names)}
    ends = np.array([[number[str(u)], number[str(v)]] for u, v in edges], dtype=np.int64)
    return Graph.from_edges(ends.T.copy(), len(names), directed=directed), _names(names)


def _in_order(features: Any, names: NDArray[Any]) -> Any:
    """The rows of a frame in the order of the names; whatever else there is, as it is."""
    if not hasattr(features, "iloc"):
        return features
    index = features.index
    places = index.get_indexer(names) if index.is_unique else np.full(len(names), -1)
    if (places >= 0).all():
        return features.iloc[places]
    if index.equals(type(features)(index=range(len(features))).index):
        return features  # numbered rows, as a frame has where nobody named them
    raise InputError(
        f"the index of a frame of features must have each node once, but there is no row of its "
        f"own for {names[places < 0][0]!r}: set the index to the nodes' names, or give an array"
    )


def _names(values: list[Any]) -> NDArray[Any]:
    if all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    names = np.empty(len(values), dtype=object)
    names[:] = values
    return names
