"""Smoothed features agree with the power of a matrix."""

import numpy as np
import pytest

from maskgae.base.errors import InputError
from maskgae.data import Graph
from maskgae.evaluation.heuristics import propagated_features


@pytest.mark.parametrize("hops", [0, 1, 2])
def test_propagation_is_the_power_of_the_normalised_adjacency(hops: int) -> None:
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)], num_nodes=5, features=x)
    hat = graph.to_scipy().toarray() + np.eye(5)
    scale = np.diag(hat.sum(1) ** -0.5)
    expected = np.linalg.matrix_power(scale @ hat @ scale, hops) @ x
    result = propagated_features(graph, hops)
    assert result == pytest.approx(expected, abs=1e-6)
    assert result.dtype == np.float32


def test_propagation_leaves_the_features_alone_and_needs_some() -> None:
    graph = Graph.from_edges([(0, 1)], features=np.ones((2, 2)))
    propagated_features(graph)
    assert graph.features is not None and (graph.features.dense() == 1).all()
    with pytest.raises(InputError, match="has no features"):
        propagated_features(Graph.from_edges([(0, 1)]))
