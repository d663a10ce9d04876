"""Products of ProNE's rows: what they tell apart, and what an edge takes with it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from maskgae.base.rng import Stream
from maskgae.data import Graph
from maskgae.data.prone import ProNE
from maskgae.datasets.generated import generate
from maskgae.evaluation.product_rules import ProneProducts
from maskgae.evaluation.rules import Rules

NAMES = list(ProneProducts.names)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return generate(160, 1200, seed=1)


def test_prone_tells_communities_apart(graph: Graph) -> None:
    z = ProNE.of(graph, 16, Stream(0)).embedding
    assert z.shape == (160, 16) and np.allclose(np.linalg.norm(z, axis=1), 1, atol=1e-5)
    assert graph.labels is not None
    same = graph.labels[:, None] == graph.labels
    products = torch.from_numpy(z @ z.T)
    assert products[same].mean() > products[~same].mean() + 0.1


def test_a_row_is_a_sum_over_neighbours_and_the_node_itself(graph: Graph) -> None:
    found = ProNE.of(graph, 16, Stream(0))
    looped = (graph.to_scipy() != 0).toarray() + np.eye(160)
    np.testing.assert_allclose(found.sums, looped @ found.own, atol=1e-4)
    inner = found.sums.T @ found.sums  # orthogonal columns, as an SVD gives them
    assert np.abs(inner - np.diag(np.diag(inner))).max() < 1e-3 * np.diag(inner).max()


def by_hand(graph: Graph, name: str, pair: tuple[int, int]) -> float:
    """One pair's score from its definition, without its edge where it is one."""
    rule = ProneProducts(graph)
    y: list[NDArray[np.float64]] = []
    for node, other in (pair, pair[::-1]):
        row = rule.sums[node].double().numpy()
        if graph.contains(torch.tensor([[node], [other]])):
            row = row - rule.own[other].double().numpy()
        y.append(row / np.linalg.norm(row) if name == "prone_cosine" else row)
    return float((y[0] * y[1]) @ rule.weights[name].double().numpy())


@pytest.mark.parametrize("name", NAMES)
def test_an_edge_is_scored_without_what_its_ends_give_each_other(graph: Graph, name: str) -> None:
    edge = (int(graph.pairs[0, 0]), int(graph.pairs[1, 0]))
    other = next((0, v) for v in range(1, 160) if not graph.contains(torch.tensor([[0], [v]])))
    pairs = torch.tensor([edge, other]).T
    found = Rules(graph, [name]).pairs(pairs)[name]
    expected = [by_hand(graph, name, pair) for pair in (edge, other)]
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_rows_are_the_pairs_that_are_no_edges(graph: Graph) -> None:
    rules, others = Rules(graph, NAMES), torch.arange(1, 160)
    pairs = torch.stack([torch.zeros_like(others), others])
    free = ~graph.contains(pairs)
    rows, found = rules.rows(torch.tensor([0])), rules.pairs(pairs[:, free])
    for name in NAMES:
        assert rows[name][0, others[free]] == pytest.approx(found[name], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_a_complete_graph_and_a_lonely_node_have_finite_scores(nodes: int) -> None:
    pairs = torch.combinations(torch.arange(nodes)).T
    edges = pairs.T.tolist()
    for count in (nodes, nodes + 1):
        rules = Rules(Graph.from_edges(edges, count), NAMES)
        scores = (*rules.pairs(pairs).values(), *rules.rows(torch.arange(count)).values())
        assert all(np.isfinite(values).all() for values in scores)
