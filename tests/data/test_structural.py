"""Features from structure: the same each time, and tame where edges are added."""

from __future__ import annotations

import time

import networkx
import numpy as np
import pytest
import torch

from maskgae.base.rng import stream
from maskgae.data.graph import Graph
from maskgae.data.structural import StructuralFeatures, normalized_adjacency
from maskgae.datasets.generated import generate


def hubs() -> networkx.Graph:
    """600 customers of 12 shops: an adjacency matrix of rank 24 at most."""
    rng = np.random.default_rng(0)
    shops = [rng.choice(12, 3, replace=False) for _ in range(600)]
    return networkx.Graph([(12 + i, shop) for i, each in enumerate(shops) for shop in each])


GRAPHS = {
    "les miserables": networkx.les_miserables_graph(),
    "karate": networkx.karate_club_graph(),
    "hubs": hubs(),
    "star": networkx.star_graph(30),
    "ring": networkx.cycle_graph(50),
    "one edge": networkx.Graph([(0, 1)]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_added_edges_leave_features_in_bounds(name: str) -> None:
    graph = Graph.from_networkx(GRAPHS[name])
    kept = torch.rand(graph.num_pairs, generator=stream(1).torch()) < 0.85
    kept[0] = True
    fitted = StructuralFeatures.fit(graph.subgraph(kept), 128, stream(0))
    assert np.abs(fitted.transform(graph).dense().numpy()).max() < 100


@pytest.mark.parametrize("name", GRAPHS)
def test_equal_streams_give_equal_bits(name: str) -> None:
    graph = Graph.from_networkx(GRAPHS[name])
    first, again = (StructuralFeatures.fit(graph, 128, stream(0)) for _ in range(2))
    assert np.array_equal(first.basis, again.basis)
    assert np.array_equal(first.scale, again.scale)


def test_a_matrix_of_low_rank_gives_columns_of_low_rank() -> None:
    basis = StructuralFeatures.fit(Graph.from_networkx(hubs()), 128, stream(0)).basis
    assert np.linalg.matrix_rank(basis, tol=1e-3 * np.linalg.norm(basis, 2)) <= 24


def test_large_graphs_are_spanned_in_bounded_time() -> None:
    """A fixed number of steps, and the span is nearly that of the leading eigenvectors."""
    graph = generate(400, 3000, communities=4, homophily=0.95, seed=0, num_features=0)
    values, vectors = np.linalg.eigh(normalized_adjacency(graph).todense())
    leading = vectors[:, np.argsort(-np.abs(values))[:4]]
    ours = np.linalg.qr(StructuralFeatures.fit(graph, 5, stream(0)).basis)[0]
    assert np.linalg.svd(ours.T @ leading)[1].min() > 0.99


def test_graphs_that_differ_little_have_columns_that_differ_little() -> None:
    """Eigenvectors would not: their signs and turns are arbitrary."""
    graph = generate(400, 6000, communities=6, homophily=0.95, seed=0, num_features=0)
    kept = torch.rand(graph.num_pairs, generator=stream(1).torch()) < 0.8
    whole, part = (
        StructuralFeatures.fit(each, 6, stream(0)).transform(each).dense()[:, 1:]
        for each in (graph, graph.subgraph(kept))
    )
    agree = torch.nn.functional.cosine_similarity(whole, part, dim=0)
    assert agree.min() > 0.9


def test_a_graph_without_edges_has_columns_of_zeros() -> None:
    graph = Graph.from_edges([], 10)
    assert not StructuralFeatures.fit(graph, 4, stream(0)).transform(graph).dense().any()


def test_a_long_path_takes_seconds() -> None:
    """Its eigenvalues lie so close that a solver would not tell them apart for minutes."""
    size = 30_000
    graph = Graph.from_edges(torch.stack([torch.arange(size), torch.arange(1, size + 1)]))
    started = time.process_time()
    StructuralFeatures.fit(graph, 128, stream(0))
    assert time.process_time() - started < 30
