"""Rules between two sides: by hand, for pairs and rows alike, and without the edge itself."""

from __future__ import annotations

import numpy as np
import torch

from maskgae.data.graph import Graph
from maskgae.evaluation.rules import Rules
from maskgae.evaluation.scorer import combined_rules
from maskgae.evaluation.side_rules import BETA, Sides, leading_vectors


def visits(users: int = 24, places: int = 32, seed: int = 0) -> Graph:
    random = np.random.default_rng(seed)
    joined = {(u, users + int(p)) for u in range(users) for p in random.integers(places, size=6)}
    graph = Graph.from_edges(sorted(joined), users + places)
    return graph.with_types([0] * users + [1] * places, ["user", "place"])


def test_degrees_stand_by_the_side_they_are_of() -> None:
    graph = visits()
    pair = torch.tensor([[0, 30], [30, 0]])  # a user and a place, in either order
    found = Sides(graph).pairs(pair, graph.contains(pair).numpy())
    edge = float(graph.contains(pair)[0])
    for name, node in (("first_side_degree", 0), ("second_side_degree", 30)):
        assert found[name].tolist() == [float(graph.degrees[node]) - edge] * 2


def test_rows_are_the_scores_of_pairs() -> None:
    graph = visits()
    rules = Rules(graph, Sides.names)
    assert len(rules.parts) == 1  # paths of three steps are walked once
    nodes = torch.tensor([3, 40])
    rows, every = rules.rows(nodes), torch.arange(graph.num_nodes)
    pairs = torch.stack([nodes.repeat_interleave(graph.num_nodes), every.repeat(2)])
    assert graph.types is not None
    free = (~graph.contains(pairs) & graph.types.allow(pairs)).numpy()
    for name, values in rules.pairs(pairs).items():
        np.testing.assert_allclose(rows[name].reshape(-1)[free], values[free], atol=1e-5)


def test_the_filter_is_paths_and_low_rank() -> None:
    graph = visits()
    pair = (~graph.to_scipy().toarray().astype(bool))[0, 24:].nonzero()[0][:1] + 24
    pairs = torch.tensor([[0], [int(pair[0])]])
    found = Sides(graph).pairs(pairs, np.array([False]))
    dense = graph.to_scipy().toarray()[:24, 24:]
    scale = [1 / np.sqrt(np.maximum(dense.sum(axis), 1)) for axis in (1, 0)]
    matrix = scale[0][:, None] * dense * scale[1]
    u, s, v = np.linalg.svd(matrix)
    low = (u[:, :3] * s[:3]) @ v[:3]  # one of eight nodes of the smaller side
    place = int(pair[0]) - 24
    wanted = (matrix @ matrix.T @ matrix)[0, place] + BETA * low[0, place]
    np.testing.assert_allclose(found["filtered_paths"], [max(0, wanted)], rtol=1e-3, atol=1e-6)


def test_leading_vectors_are_those_of_an_exact_decomposition() -> None:
    import scipy.sparse as sp

    table = np.random.default_rng(0).random((40, 60)).astype(np.float32)
    u, s, v = leading_vectors(sp.csr_array(table))
    exact = np.linalg.svd(table, compute_uv=False)[: s.size]
    np.testing.assert_allclose(s, exact, rtol=1e-3)
    assert u.shape == (40, 5)
    assert v.shape == (60, 5)


def test_an_edge_gives_nothing_of_itself_to_the_low_rank() -> None:
    # One edge: of two apart, whose singular values are equal, the leading vectors are any mixture.
    graph = Graph.from_edges([(0, 2)], 4).with_types([0, 0, 1, 1], ["a", "b"])
    found = Sides(graph).pairs(torch.tensor([[0], [2]]), np.array([True]))
    np.testing.assert_allclose(found["filtered_paths"], [0], atol=1e-6)


def test_two_sides_are_combined_by_these() -> None:
    names = combined_rules(visits())
    assert {"filtered_paths", "first_side_degree", "second_side_degree"} <= set(names)
    assert "degree_product" not in names
