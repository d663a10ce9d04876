"""Heuristic baselines agree with NetworkX and with values worked out by hand."""

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from maskgae.base.errors import InputError
from maskgae.data import Graph
from maskgae.evaluation import heuristics
from maskgae.evaluation.heuristics import link_heuristics, propagated_features


def all_pairs(num_nodes: int) -> torch.Tensor:
    return torch.from_numpy(np.stack(np.triu_indices(num_nodes, 1)))


def test_scores_worked_out_by_hand() -> None:
    # 0 and 3 share the neighbours 1 (degree 2) and 2 (degree 3).
    graph = Graph.from_edges([(0, 1), (1, 3), (0, 2), (2, 3), (2, 4)])
    scores = link_heuristics(graph, torch.tensor([[0, 0], [3, 4]]))
    assert scores["common_neighbours"].tolist() == [2, 1]
    assert scores["adamic_adar"] == pytest.approx([1 / np.log(2) + 1 / np.log(3), 1 / np.log(3)])
    assert scores["resource_allocation"] == pytest.approx([1 / 2 + 1 / 3, 1 / 3])
    assert scores["degree_product"].tolist() == [4, 2]
    assert "feature_cosine" not in scores


@pytest.mark.parametrize("chunk", [1, 50, 10**6])
def test_scores_agree_with_networkx(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heuristics, "CHUNK_ENTRIES", chunk)
    reference = networkx.gnm_random_graph(30, 80, seed=1)
    reference.add_node(30)
    graph, pairs = Graph.from_networkx(reference), all_pairs(31)
    scores = link_heuristics(graph, pairs)
    for name, function in (
        ("adamic_adar", networkx.adamic_adar_index),
        ("resource_allocation", networkx.resource_allocation_index),
        ("degree_product", networkx.preferential_attachment),
    ):
        expected = [score for _, _, score in function(reference, pairs.T.tolist())]
        assert scores[name] == pytest.approx(expected)
    expected = [len(list(networkx.common_neighbors(reference, u, v))) for u, v in pairs.T.tolist()]
    assert scores["common_neighbours"].tolist() == expected


def test_direction_of_a_pair_and_weights_of_edges_do_not_matter() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    one = link_heuristics(Graph.from_edges(edges), torch.tensor([[1], [3]]))
    two = link_heuristics(
        Graph.from_edges(edges, weights=[1, 2, 3, 4, 5]), torch.tensor([[3], [1]])
    )
    assert {name: score.tolist() for name, score in one.items()} == {
        name: score.tolist() for name, score in two.items()
    }


@pytest.mark.parametrize("chunk", [3, 10**6])
@pytest.mark.parametrize("columns", [2, 40])
def test_cosine_dense_and_sparse(columns: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heuristics, "CHUNK_ENTRIES", chunk)
    x = np.zeros((4, columns), dtype=np.float32)
    x[0, :2], x[1, :2], x[2, :2] = (3, 4), (4, 3), (-3, -4)
    graph = Graph.from_edges([(0, 1)], features=x)
    cosine = link_heuristics(graph, all_pairs(4))["feature_cosine"]
    assert cosine == pytest.approx([0.96, -1, 0, -0.96, 0, 0])


def test_no_pairs() -> None:
    graph = Graph.from_edges([(0, 1)], features=sp.eye_array(20))
    scores = link_heuristics(graph, torch.empty(2, 0, dtype=torch.long))
    assert {score.size for score in scores.values()} == {0} and len(scores) == 5


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
