"""Hard negatives on graphs small enough to rank by hand."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch

from maskgae.base.errors import InputError, RunError
from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.datasets.generated import generate
from maskgae.evaluation import hard
from maskgae.evaluation.hard import hard_metrics, hard_negatives
from maskgae.evaluation.rules import link_heuristics


def of_pair(graph: Graph, u: int, v: int, count: int, whole: Graph | None = None) -> list[set[int]]:
    """The partners of the first end and of the second, for one pair."""
    kept, others = hard_negatives(
        graph, whole or graph, torch.tensor([[u], [v]]), count, stream(0)
    ).tolist()
    first = count - count // 2
    assert kept == [u] * first + [v] * (count - first)
    return [set(others[:first]), set(others[first:])]


def test_the_nearest_in_the_graph_come_first() -> None:
    # 0 - 1 - 2 - 3 - 4 - 5 - 6: two steps away is the only node with a common neighbour.
    path = Graph.from_edges([(i, i + 1) for i in range(6)])
    assert of_pair(path, 0, 6, 2) == [{2}, {4}]
    assert of_pair(path, 0, 6, 4) == [{2, 3}, {4, 3}]


def test_the_best_of_the_ranks_counts() -> None:
    # 3 is near to 0 by edges, 5 by features; everything else is neither.
    features = np.array([[1, 0], [0, 1], [0, 1], [0, 1], [0, 1], [1, 0.1], [0, 1]])
    graph = Graph.from_edges([(0, 1), (1, 3), (2, 4), (4, 6)], 7, features=features)
    assert of_pair(graph, 0, 2, 4)[0] == {3, 5}


def test_known_edges_and_the_end_itself_are_left_out() -> None:
    whole = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (0, 2)], 6)
    messages = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)], 6)
    # 2 is the hardest for 0 on the messages, but an edge; 5 is out of reach and comes last.
    assert of_pair(messages, 0, 1, 2, whole)[0] == {3}
    assert of_pair(messages, 0, 1, 6, whole)[0] == {3, 4, 5}


def test_an_isolated_end_gets_random_partners() -> None:
    graph = Graph.from_edges([(0, 1)], 50)
    pairs = torch.tensor([[2], [3]])
    drawn = [hard_negatives(graph, graph, pairs, 10, stream(seed))[1] for seed in (0, 0, 1)]
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert drawn[0][:5].unique().numel() == 5 and 2 not in drawn[0][:5]


@pytest.mark.parametrize("chunk", [1, 200, 2**22])
@pytest.mark.usefixtures("global_rng_untouched")
def test_negatives_are_distinct_non_edges_whatever_the_chunk(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = generate(60, 150, num_features=8, communities=3, seed=1)
    expected = hard_negatives(graph, graph, graph.pairs[:, :20], 21, stream(0))
    monkeypatch.setattr(hard, "CHUNK_NUMBERS", chunk)
    found = hard_negatives(graph, graph, graph.pairs[:, :20], 21, stream(0))
    assert torch.equal(found, expected)
    assert not graph.contains(found).any() and (found[0] != found[1]).all()
    for _, partners in zip(*found.view(2, 20, 21), strict=True):
        assert partners[:11].unique().numel() == 11 and partners[11:].unique().numel() == 10


def test_walks_agree_with_networkx_and_with_resource_allocation() -> None:
    reference = networkx.gnm_random_graph(20, 50, seed=2)
    graph, ends = Graph.from_networkx(reference), torch.tensor([3, 7])
    two_steps, pagerank = hard.walks(graph, ends)
    for end, row in zip(ends.tolist(), pagerank, strict=True):
        exact = networkx.pagerank(reference, alpha=1 - hard.TELEPORT, personalization={end: 1})
        missing = (1 - hard.TELEPORT) ** (hard.WALK_STEPS + 1)
        assert row.sum().item() == pytest.approx(1 - missing, abs=1e-5)
        assert np.abs(row.numpy() - [exact[i] for i in range(20)]).max() < missing
    pairs = torch.stack([ends.repeat_interleave(20), torch.arange(20).repeat(2)])
    scores = link_heuristics(graph, pairs)["resource_allocation"].reshape(2, 20)
    walked = two_steps.numpy() * graph.degrees[ends].numpy()[:, None]
    other = np.arange(20) != ends.numpy()[:, None]  # an end shares all neighbours with itself
    assert walked[other] == pytest.approx(scores[other], abs=1e-6)


def test_too_few_non_edges_are_an_error_that_says_how_many_there_are() -> None:
    star = Graph.from_edges([(0, i) for i in range(1, 6)], 8)
    with pytest.raises(InputError, match=r"has only 2: set split\.hard_negatives to 4 or less"):
        hard_negatives(star, star, torch.tensor([[0], [1]]), 6, stream(0))


def test_ranks_by_hand() -> None:
    negative = np.tile(np.arange(20.0), (3, 1))
    # Ranks 1, 11 (ten above) and 20.5 (19 above, one beside it).
    metrics = hard_metrics([25.0, 9.5, 0.0], negative)
    assert metrics["hard_mrr"] == pytest.approx((1 + 1 / 11 + 1 / 20.5) / 3)
    assert metrics["hard_hits@10"] == pytest.approx(1 / 3)
    assert metrics["hard_hits@20"] == pytest.approx(2 / 3)
    assert "hard_hits@50" not in metrics


def test_a_score_that_is_no_number_is_an_error() -> None:
    with pytest.raises(RunError, match="NaN"):
        hard_metrics([0.0], [[float("nan")]])
