"""PyG's ``HeteroData`` of one kind of edges: a graph whose nodes have types."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from maskgae.base.errors import InputError
from maskgae.data.features import as_features
from maskgae.data.graph import Graph


def from_hetero(data: Any, directed: bool = False) -> tuple[Graph, NDArray[Any]]:
    """The graph of the one kind of edges, and names such as ``user:3`` of its nodes.

    The nodes of a type keep their order. Features of each type stand in columns of their own,
    beside zeros, since columns of two types need not mean the same.
    """
    if len(data.edge_types) != 1:
        raise InputError(
            f"PyG's HeteroData has {len(data.edge_types)} kinds of edges, and one graph has one: "
            "keep one kind, or give data.to_homogeneous()"
        )
    (kind,) = data.edge_types
    names = list(dict.fromkeys((kind[0], kind[2])))
    sizes = [int(data[name].num_nodes) for name in names]
    first = dict(zip(names, np.cumsum([0, *sizes]).tolist(), strict=False))
    source, target = data[kind].edge_index
    edges = torch.stack([source + first[kind[0]], target + first[kind[2]]])
    features = _features(data, names, sizes)
    graph = Graph.from_edges(edges, sum(sizes), features=features, directed=directed)
    ids = np.array([f"{n}:{i}" for n, size in zip(names, sizes, strict=True) for i in range(size)])
    if len(names) > 1:
        graph = graph.with_types(np.repeat(np.arange(len(names)), sizes), names)
    return graph, ids.astype(object)


def _features(data: Any, names: list[str], sizes: list[int]) -> Any:
    """The features of all types, each in columns of its own; none where no type has any."""
    found = [data[name].get("x") for name in names]
    if all(x is None for x in found):
        return None
    blocks = [torch.zeros(n, 0) if x is None else x for x, n in zip(found, sizes, strict=True)]
    return as_features(torch.block_diag(*(block.float() for block in blocks)))
