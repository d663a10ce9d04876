r"""Heuristic baselines: what simple counts and raw features reach without any learning.

With neighbours :math:`\Gamma(u)`, degrees :math:`d_u` and features :math:`x_u`, the pair
:math:`(u, v)` scores

===================  ==========================================================
common_neighbours    :math:`|\Gamma(u) \cap \Gamma(v)|`
adamic_adar          :math:`\sum_{w \in \Gamma(u) \cap \Gamma(v)} 1 / \log d_w`
resource_allocation  :math:`\sum_{w \in \Gamma(u) \cap \Gamma(v)} 1 / d_w`
degree_product       :math:`d_u d_v`
feature_cosine       :math:`x_u^\top x_v / (|x_u| |x_v|)`
===================  ==========================================================

For nodes the rows are a linear probe on raw features and on :func:`propagated_features`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.sizes import CHUNK_ENTRIES, spans
from maskgae.data.features import Features, SparseFeatures
from maskgae.data.graph import Graph

Floats = NDArray[np.float64]


def link_heuristics(graph: Graph, pairs: Tensor) -> dict[str, Floats]:
    """Scores of the pairs by every heuristic, from the edges of ``graph`` alone.

    Args:
        graph: the message graph; its weights are not used.
        pairs: what to score.

    Shapes:
        - **pairs:** ``[2, P]``
        - **output:** ``[P]`` by name; ``feature_cosine`` only where there are features

    >>> import torch
    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    >>> scores = link_heuristics(path, torch.tensor([[0, 0], [2, 3]]))
    >>> scores["resource_allocation"].tolist(), scores["degree_product"].tolist()
    ([0.5, 0.0], [2.0, 1.0])
    """
    # Only the rows of the pairs' ends are looked at.
    nodes, place = torch.unique(pairs.cpu(), return_inverse=True)
    u, v = place.numpy()
    degrees = graph.degrees.numpy().astype(np.float64)
    # The worth of a common neighbour; those have two neighbours at least.
    several = np.maximum(degrees, 2)
    worth = np.stack([np.ones_like(several), 1 / np.log(several), 1 / several], axis=1)
    common = _shared_weight(_adjacency(graph, nodes), u, v, worth)
    names = ("common_neighbours", "adamic_adar", "resource_allocation")
    scores: dict[str, Floats] = dict(zip(names, common.T, strict=True))
    own = degrees[nodes.numpy()]
    scores["degree_product"] = own[u] * own[v]
    if graph.features is not None:
        scores["feature_cosine"] = _cosine(graph.features.rows(nodes), u, v)
    return scores


def propagated_features(graph: Graph, hops: int = 2) -> NDArray[np.float32]:
    r"""Features averaged over ``hops`` steps: the simplified graph convolution (SGC).

    Weights play no part.

    .. math::

        \left(\hat D^{-1/2} (A + I) \hat D^{-1/2}\right)^k X, \qquad \hat D = D + I

    Args:
        graph: the whole graph with features.
        hops: the power :math:`k`.

    Shapes:
        - **output:** ``[N, F]``

    >>> pair = Graph.from_edges([(0, 1)], features=np.array([[1.0], [3.0]]))
    >>> propagated_features(pair, hops=1).round(6).tolist()
    [[2.0], [2.0]]
    """
    if graph.features is None:
        raise InputError(f"{graph.name} has no features to propagate")
    x = graph.features.dense()
    # [N, 1]
    scale = (graph.degrees + 1).to(x.dtype).rsqrt().unsqueeze(1)
    for _ in range(hops):
        scaled = x * scale
        x = graph.structure.csr.matmul(scaled).add_(scaled).mul_(scale)
    return np.asarray(x.numpy())


def _adjacency(graph: Graph, nodes: Tensor) -> sp.csr_array:
    csr = graph.structure.csr.rows(nodes)
    arrays = (np.ones(csr.num_entries), csr.indices.numpy(), csr.indptr.numpy())
    return sp.csr_array(arrays, shape=(nodes.numel(), graph.num_nodes))


def _shared_weight(matrix: sp.csr_array, u: Any, v: Any, worth: Floats) -> Floats:
    """Sum over the columns that two rows share, ``[P]`` rows each and ``[C, k] -> [P, k]``."""
    out = np.empty((u.size, worth.shape[1]))
    entries = np.diff(matrix.indptr)
    for chunk in spans(entries[u] + entries[v], CHUNK_ENTRIES):
        out[chunk] = matrix[u[chunk]].multiply(matrix[v[chunk]]) @ worth
    return out


def _cosine(features: Features, u: Any, v: Any) -> Floats:
    if isinstance(features, SparseFeatures):
        rows = sp.csr_array(features.scipy(), dtype=np.float64)
        norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1))
        products = _shared_weight(rows, u, v, np.ones((rows.shape[1], 1)))[:, 0]
    else:
        table = features.dense().numpy()
        norms = np.sqrt(np.einsum("nf,nf->n", table, table, dtype=np.float64))
        products = np.empty(u.size)
        for chunk in spans(np.full(u.size, 2 * table.shape[1]), CHUNK_ENTRIES):
            products[chunk] = np.einsum("pf,pf->p", table[u[chunk]], table[v[chunk]])
    # A node without any feature is like no other.
    lengths = norms[u] * norms[v]
    return np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
