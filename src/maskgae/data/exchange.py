"""Graphs of other libraries: SciPy, NetworkX and PyG, in and out.

What comes in is turned into the arguments of :meth:`~maskgae.data.graph.Graph.from_edges`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from maskgae.base.errors import InputError
from maskgae.data.labels import NodeSplit
from maskgae.data.pairs import is_symmetric

if TYPE_CHECKING:
    import networkx
    from torch_geometric.data import Data

    from maskgae.data.graph import Graph

PARTS = ("train", "val", "test")


def scipy_parts(adjacency: Any) -> dict[str, Any]:
    """Edges, nodes and weights of a square sparse matrix; weights where not all values are 1."""
    matrix = sp.coo_array(adjacency)
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"an adjacency matrix must be square, not {matrix.shape}")
    present = matrix.data != 0
    edges = np.stack([matrix.row[present], matrix.col[present]])
    parts: dict[str, Any] = {"edges": edges, "num_nodes": matrix.shape[0]}
    data = matrix.data[present]
    if not np.all(data == 1):
        parts["weights"] = data / 2 if is_symmetric(edges, data, matrix.shape[0]) else data
    return parts


def networkx_parts(graph: networkx.Graph) -> dict[str, Any]:
    """Edges, nodes and, where any edge has one, weights of a NetworkX graph."""
    number = {node: i for i, node in enumerate(graph)}
    edges = np.array([(number[u], number[v]) for u, v in graph.edges()], dtype=np.int64)
    # [2, E], since two edges would be taken for that whichever way they lie
    parts: dict[str, Any] = {"edges": edges.reshape(-1, 2).T, "num_nodes": len(number)}
    if any("weight" in found for _, _, found in graph.edges(data=True)):
        parts["weights"] = [w for _, _, w in graph.edges(data="weight", default=1.0)]
    return parts


def pyg_parts(data: Data) -> dict[str, Any]:
    """Edges, nodes, weights, features, labels and split of PyG's ``Data``."""
    split = None
    masks: list[Any] = [data.get(f"{part}_mask") for part in PARTS]
    if all(mask is not None and mask.dim() == 1 for mask in masks):
        split = NodeSplit(*(mask.nonzero().squeeze(1) for mask in masks))
    labels, weights = getattr(data, "y", None), data.get("edge_weight")
    if weights is not None:
        weights = weights.reshape(-1).numpy().astype(np.float64)
        if is_symmetric(data.edge_index.numpy(), weights, data.num_nodes):
            weights /= 2
    return {
        "edges": data.edge_index,
        "num_nodes": data.num_nodes,
        "weights": weights,
        "features": getattr(data, "x", None),
        "labels": None if labels is None else labels.reshape(-1),
        "node_split": split,
    }


def to_scipy(graph: Graph) -> sp.csr_array:
    """The symmetric adjacency matrix, ``[N, N]``."""
    structure = graph.structure
    if graph.weights is None:
        data = np.ones(structure.csr.num_entries, dtype=np.float32)
    else:
        data = graph.weights[structure.pair_of_entry].numpy()
    arrays = (data, structure.csr.indices.numpy(), structure.csr.indptr.numpy())
    return sp.csr_array(arrays, shape=(graph.num_nodes, graph.num_nodes))


def to_networkx(graph: Graph) -> networkx.Graph:
    """A NetworkX graph on the nodes 0 to N - 1, with the weights where there are any."""
    import networkx

    other = networkx.Graph()
    other.add_nodes_from(range(graph.num_nodes))
    other.add_edges_from(graph.pairs.T.tolist())
    if graph.weights is not None:
        weights = zip(map(tuple, graph.pairs.T.tolist()), graph.weights.tolist(), strict=True)
        networkx.set_edge_attributes(other, dict(weights), "weight")
    return other


def to_pyg(graph: Graph) -> Data:
    """PyG's ``Data`` with both directions in ``edge_index``."""
    from torch_geometric.data import Data

    csr = graph.structure.csr
    data = Data(edge_index=torch.stack([csr.row_of_entry(), csr.indices]))
    data.num_nodes = graph.num_nodes
    if graph.weights is not None:
        data.edge_weight = graph.weights[graph.structure.pair_of_entry]
    if graph.features is not None:
        data.x = graph.features.dense()
    if graph.labels is not None:
        data.y = graph.labels
    if graph.node_split is not None:
        for part in PARTS:
            mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
            mask[getattr(graph.node_split, part)] = True
            data[f"{part}_mask"] = mask
    return data
