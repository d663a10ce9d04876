"""Embeddings of a training graph that people would use instead, in their usual settings.

=========  =============================================================================
svd        left singular vectors of the normalised adjacency, times the roots of the values
spectral   scikit-network's ``Spectral`` with its own settings: the Laplacian's eigenvectors
prone      :mod:`~maskgae.data.prone`
node2vec   p = q = 1, ten walks of 80 steps per node, window 10, one epoch: pecanpy's own
smoothed   features, reduced by an SVD where they are wider, smoothed twice as in SGC
=========  =============================================================================

Each has :data:`COLUMNS` columns at most, and sees training edges alone.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from maskgae.base.errors import InputError
from maskgae.base.extras import need
from maskgae.base.rng import Stream, isolated_rng
from maskgae.data.features import as_features
from maskgae.data.graph import Graph
from maskgae.data.prone import ProNE, factorised
from maskgae.data.structural import normalized_adjacency
from maskgae.evaluation.heuristics import propagated_features
from maskgae.masking.walks import random_walks

COLUMNS = 128
#: What node2vec is given.
WALKS, STEPS, WINDOW, EPOCHS = 10, 80, 10, 1

Floats = NDArray[np.float32]


def svd_embedding(graph: Graph, stream: Stream) -> Floats:
    return factorised(normalized_adjacency(graph), COLUMNS, stream)


def prone_embedding(graph: Graph, stream: Stream) -> Floats:
    return ProNE.of(graph, COLUMNS, stream).embedding


def spectral_embedding(graph: Graph, stream: Stream) -> Floats:
    columns = min(COLUMNS, graph.num_nodes - 2)
    model = need("sknetwork.embedding", "lab").Spectral(columns)
    with isolated_rng(stream):
        found = model.fit_transform(sp.csr_matrix(graph.to_scipy() != 0, dtype=np.float64))
    return np.asarray(found, dtype=np.float32)


def node2vec_embedding(graph: Graph, stream: Stream) -> Floats:
    """Skip-gram with negative samples over random walks.

    As pecanpy has it, whose walks cannot be imported beside NumPy 2: gensim learns from our own.
    """
    model = need("gensim.models", "lab").Word2Vec
    walks = [walk for i in range(WALKS) for walk in _walks(graph, stream.at("walks", i))]
    seed = stream.key % 2**31
    learnt = model(
        walks, vector_size=COLUMNS, window=WINDOW, epochs=EPOCHS, sg=1, min_count=0, seed=seed,
        workers=1,
    ).wv  # fmt: skip
    found = np.zeros((graph.num_nodes, COLUMNS), dtype=np.float32)  # also where nobody walks
    found[np.array(learnt.index_to_key, dtype=np.int64)] = learnt.vectors
    return found


def _walks(graph: Graph, stream: Stream) -> list[list[str]]:
    """A walk from each node that has neighbours, in random order, as words."""
    connected = graph.degrees.nonzero().squeeze(1)
    order = torch.randperm(connected.numel(), generator=stream.at("order").torch())
    starts = connected[order]
    entries = random_walks(graph, starts, STEPS, stream)
    # [walks, 1 + steps]
    nodes = torch.cat([starts.unsqueeze(0), graph.structure.csr.indices[entries].long()]).T
    words = np.array([str(node) for node in range(graph.num_nodes)], dtype=object)
    return [walk.tolist() for walk in words[nodes.numpy()]]


def smoothed_embedding(graph: Graph, stream: Stream) -> Floats:
    if graph.features is None:
        raise InputError(f"{graph.name} has no features to smooth")
    if graph.features.num_columns > COLUMNS:
        table = sp.csr_array(graph.features.scipy(), dtype=np.float32)
        graph = graph.with_features(as_features(_reduced(table, stream)))
    return propagated_features(graph)


def _reduced(table: sp.csr_array, stream: Stream) -> Floats:
    r""":math:`U \Sigma`, which keeps products of rows as well as so many columns can."""
    from sklearn.utils.extmath import randomized_svd

    left, values, _ = randomized_svd(table, COLUMNS, n_iter=5, random_state=stream.key % 2**32)
    return np.asarray(left * values, dtype=np.float32)
