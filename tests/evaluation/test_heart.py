"""HeaRT's rule on graphs small enough to follow it by hand."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.data.splits import LinkSplit, split_links
from maskgae.datasets.generated import generate
from maskgae.evaluation.ground import Ground
from maskgae.evaluation.heart import TELEPORT, heart_negatives, to_ranks
from maskgae.evaluation.link_task import selection_pairs
from maskgae.kernels.push import push_pagerank

NONE = torch.empty(2, 0, dtype=torch.long)


def of(graph: Graph, val: list[list[int]], test: list[list[int]], count: int) -> list[Tensor]:
    """The partners of each pair of validation and of the test, ``[P, count]`` each."""
    pairs = [torch.tensor(part, dtype=torch.long).view(-1, 2).T for part in (val, test)]
    found = heart_negatives(LinkSplit(graph, *pairs, NONE, NONE), count, stream(0))
    return [part[1].view(-1, count) for part in found]


def test_ranks_tie_at_the_last_and_zeros_share_the_next() -> None:
    row = np.array([0.2, 0.0, 0.7, 0.2, 0.0, -1.0, 0.7, 0.9], dtype=np.float32)
    to_ranks(row)
    assert row.tolist() == [5, 6, 3, 5, 6, 7, 3, 1]
    empty = np.array([0.0, -1.0], dtype=np.float32)
    to_ranks(empty)
    assert empty.tolist() == [1, 2]


def test_pagerank_agrees_with_networkx() -> None:
    reference = networkx.gnm_random_graph(30, 70, seed=1)
    csr = Graph.from_networkx(reference).structure.csr
    kept, left = np.zeros((2, 30))
    queue, waits = np.empty(30, np.int64), np.zeros(30, np.bool_)
    rows = csr.indptr.numpy(), csr.indices.numpy()
    push_pagerank(*rows, 4, TELEPORT, 1e-9, kept, left, queue, waits)
    exact = networkx.pagerank(reference, 1 - TELEPORT, personalization={4: 1}, tol=1e-12)
    np.testing.assert_allclose(kept, [exact[node] for node in range(30)], atol=1e-6)
    assert not waits.any()


def test_two_steps_away_comes_first_and_neighbours_never() -> None:
    path = Graph.from_edges([(i, i + 1) for i in range(6)])
    val, _ = of(path, [[0, 6]], [], 2)
    assert val.tolist() == [[2, 4]]


def test_other_test_edges_stay_candidates_and_validation_edges_do_not() -> None:
    # 0 and 4 meet by way of 1, 0 and 5 by way of 2.
    graph = Graph.from_edges([(0, 1), (0, 2), (1, 4), (2, 5), (3, 6)], 7)
    alone, both = of(graph, [], [[0, 3]], 4)[1], of(graph, [[0, 4]], [[0, 3]], 4)[1]
    assert {4, 5} <= set(alone[0, :2].tolist())
    assert 4 not in both[0, :2].tolist()
    with_test = of(graph, [], [[0, 3], [0, 4]], 4)[1]
    assert 4 in with_test[0, :2].tolist()


def test_the_next_pair_of_an_end_ranks_the_ranks() -> None:
    # By edges 7, 8 and 9 are equally near to 0; by features 1 is the most alike, then 2, 3 and 4.
    angles = np.array([0.0, 0.1, 0.4, 0.8, 1.2, 0.9])
    features = np.zeros((10, 2))
    features[:6] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    graph = Graph.from_edges([(0, 6), (6, 7), (6, 8), (6, 9), (4, 5)], 10, features=features)
    first, second = of(graph, [[0, 4], [0, 3]], [], 8)[0][:, :4].tolist()
    assert set(first) == {1, 7, 8, 9}
    # Ranks stand where cosines were: first comes the partner that was left out then.
    assert set(second) == {4, 7, 8, 9}


def test_nodes_without_any_score_are_drawn() -> None:
    graph = Graph.from_edges([(0, 1), (1, 2)], 40)
    val, _ = of(graph, [[0, 30]], [], 20)
    own = val[0, :10].tolist()
    assert own[0] == 2 and not {0, 1, 2, 30} & set(own[1:])
    again, _ = of(graph, [[0, 30]], [], 20)
    assert torch.equal(val, again)


def test_what_it_does_not_know_is_refused() -> None:
    graph = Graph.from_edges([(0, 1), (1, 2)], 9)
    with pytest.raises(InputError, match=r"even split\.hard_negatives, here 3"):
        of(graph, [[0, 5]], [], 3)
    full = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    with pytest.raises(InputError, match="4 partners, and node 0 has 1"):
        of(full, [[0, 3]], [], 8)


@pytest.mark.parametrize("rule", ["ours", "heart"])
@pytest.mark.usefixtures("global_rng_untouched")
def test_selection_and_test_are_ranked_by_the_same_rule(rule: str) -> None:
    graph = generate(120, 360, num_features=8, communities=4, seed=0)
    split = split_links(graph, 0.1, 0.1, stream(0))
    keys = {"split.hard_negatives": 10, "split.hard_rule": rule, "training.select": "val_hard"}
    settings = Settings().updated({**keys, "scorer.kind": "combined"})
    chosen, kept = selection_pairs(split, settings)
    assert chosen is not None and kept is not None
    for half in (chosen, kept):
        assert half.hard is not None
        own, others = half.pairs, half.hard
        assert others.shape == (2, own.shape[1], 10)
        keeps = (others == own[0][:, None]).any(0) | (others == own[1][:, None]).any(0)
        assert keeps.all()
    assert Ground.of(graph, split, settings).contest.hard is not None


def test_selection_by_hard_negatives_needs_some() -> None:
    graph = generate(60, 150, num_features=8, communities=3, seed=0)
    split = split_links(graph, 0.1, 0.1, stream(0))
    with pytest.raises(InputError, match=r"split\.hard_negatives = 0"):
        selection_pairs(split, Settings().updated({"training.select": "val_hard"}))
