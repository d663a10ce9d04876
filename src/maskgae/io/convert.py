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
from maskgae.data.graph import Graph, as_labels
from maskgae.io.layout import KNOWN_PAIRS


def as_graph(graph: Any, features: Any = None, labels: Any = None) -> tuple[Graph, NDArray[Any]]:
    """A graph and what its nodes are called.

    Args:
        graph: a :class:`Graph`, PyG ``Data``, a SciPy sparse matrix, a NetworkX graph, a pandas
            frame of edges, or an edge array ``[2, E]`` or ``[E, 2]``.
        features: a row for each node, in the order of the returned names; the rows of a pandas
            frame go by its index where that has the names.
        labels: a class for each node.

    >>> import networkx
    >>> graph, names = as_graph(networkx.Graph([("ann", "bob"), ("bob", "cyd")]))
    >>> graph, names.tolist()
    (Graph(nodes=3, pairs=2), ['ann', 'bob', 'cyd'])
    """
    made, names = _converted(graph, features)
    if features is not None:
        made = replace(made, features=as_features(_in_order(features, names)))
    if labels is not None:
        made = replace(made, labels=as_labels(labels))
    return made, names


def _converted(graph: Any, features: Any) -> tuple[Graph, NDArray[Any]]:
    if isinstance(graph, Graph):
        return graph, np.arange(graph.num_nodes)
    if _is_networkx(graph):
        return Graph.from_networkx(graph), _names(list(graph))
    if sp.issparse(graph):
        made = Graph.from_scipy(graph)
        return made, np.arange(made.num_nodes)
    if hasattr(graph, "edge_index"):
        made = Graph.from_pyg(graph)
        return made, np.arange(made.num_nodes)
    if hasattr(graph, "columns") and hasattr(graph, "to_numpy"):
        return _from_frame(graph)
    rows = None if features is None else as_features(features).num_rows
    made = Graph.from_edges(graph, rows)
    return made, np.arange(made.num_nodes)


def _is_networkx(graph: Any) -> bool:
    networkx = sys.modules.get("networkx")  # whoever holds a graph of it has imported it
    return networkx is not None and isinstance(graph, networkx.Graph)


def _from_frame(frame: Any) -> tuple[Graph, NDArray[Any]]:
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
    return Graph.from_edges(codes.reshape(2, -1), names.size, weights=weights), names


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
