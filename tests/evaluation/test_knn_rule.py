"""The rule of nodes with like features: its vectors by hand, and what an edge takes with it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.evaluation import rules
from maskgae.evaluation.knn_rule import NEAREST
from maskgae.evaluation.rules import Rules, default_rules
from maskgae.evaluation.scorer import combined_rules

NODES = 30


@pytest.fixture
def graph() -> Graph:
    random = stream(3).numpy()
    words = sp.random_array((NODES, 60), density=0.1, rng=random)
    return Graph.from_edges(random.integers(NODES, size=(60, 2)), NODES, features=words)


def vectors(graph: Graph, adjacency: NDArray[np.float64]) -> NDArray[np.float64]:
    """Smoothed over given edges with the weights of all, then over the nearest by features."""
    x = graph.features.dense().double().numpy()
    used = (x != 0).sum(0)
    x = x * (np.log((1 + NODES) / (1 + used)) + 1)
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    scale = 1 / np.sqrt(1 + graph.degrees.numpy())
    smooth = (adjacency + np.eye(NODES)) * scale * scale[:, None] @ x
    cosine = x @ x.T - 2 * np.eye(NODES)
    asked = np.zeros_like(cosine)
    for node, near in enumerate(np.argsort(-cosine, axis=1)[:, :NEAREST]):
        asked[node, near] = np.maximum(cosine[node, near], 0)
    return smooth + asked @ smooth


def cosine(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


def test_every_pair_is_scored_without_its_own_edge(graph: Graph) -> None:
    pairs = torch.from_numpy(np.stack(np.triu_indices(NODES, 1)))
    found = Rules(graph, ["knn_cosine"]).pairs(pairs)["knn_cosine"]
    adjacency = graph.to_scipy().toarray().astype(float)
    for (u, v), value in zip(pairs.T.tolist(), found, strict=True):
        cut = adjacency.copy()
        cut[u, v] = cut[v, u] = 0
        h = vectors(graph, cut)
        assert value == pytest.approx(cosine(h[u], h[v]), abs=1e-5)


def test_rows_are_the_pairs_that_are_no_edges(graph: Graph) -> None:
    rule = Rules(graph, ["knn_cosine"])
    row = rule.rows(torch.tensor([2]))["knn_cosine"][0]
    others = torch.tensor([v for v in range(NODES) if v != 2])
    pairs = torch.stack([torch.full_like(others, 2), others])
    free = ~graph.contains(pairs)
    found = rule.pairs(pairs[:, free])["knn_cosine"]
    assert row[others[free]] == pytest.approx(found, abs=1e-5)


def test_a_single_node_and_features_of_zeros_have_no_like(graph: Graph) -> None:
    nothing = Graph.from_edges([(0, 1)], 3, features=np.zeros((3, 2)))
    assert (Rules(nothing, ["knn_cosine"]).rows(torch.arange(3))["knn_cosine"] == 0).all()


def test_it_is_combined_where_it_is_affordable(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert combined_rules(graph, "all") == (*combined_rules(graph), "knn_cosine")
    assert "knn_cosine" not in combined_rules(graph.with_features(None), "all")
    monkeypatch.setattr(rules, "KNN_NODES", NODES - 1)
    assert "knn_cosine" not in default_rules(graph)
