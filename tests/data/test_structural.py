"""Features from structure: the same each time, and tame where edges are added."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch

from maskgae.base.rng import stream
from maskgae.data import structural
from maskgae.data.graph import Graph
from maskgae.data.structural import StructuralFeatures
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


def test_a_matrix_of_low_rank_gives_few_columns() -> None:
    assert StructuralFeatures.fit(Graph.from_networkx(hubs()), 128, stream(0)).basis.shape[1] <= 24


def test_large_graphs_are_spanned_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is solved for, the span is nearly that of the leading eigenvectors."""
    graph = generate(400, 3000, communities=4, homophily=0.95, seed=0, num_features=0)
    solved = StructuralFeatures.fit(graph, 5, stream(0)).basis
    monkeypatch.setattr(structural, "SOLVED_NODES", 10)
    spanned, again = (StructuralFeatures.fit(graph, 5, stream(0)) for _ in range(2))
    assert np.array_equal(spanned.basis, again.basis)
    ours, theirs = (np.linalg.qr(basis)[0] for basis in (spanned.basis, solved))
    assert np.linalg.norm(ours.T @ theirs, 2) > 0.99
