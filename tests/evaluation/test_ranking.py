"""Full ranking on graphs small enough to rank by hand, and against a plain loop."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from maskgae.base.errors import InputError, RunError
from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.evaluation import ranking
from maskgae.evaluation.ranking import Ranking, full_ranking, left_out

pytestmark = pytest.mark.usefixtures("global_rng_untouched")

# Five nodes; 0-1 is known, 0-3 is held out.
KNOWN = Graph.from_edges([(0, 1), (0, 3)], num_nodes=5)
TABLE = torch.tensor(
    [
        [9.0, 8.0, 5.0, 4.0, 1.0],  # 0: itself and 1 are left out, 2 stands above 3
        [8.0, 9.0, 0.0, 0.0, 0.0],
        [5.0, 0.0, 9.0, 0.0, 0.0],
        [4.0, 4.0, 4.0, 9.0, 7.0],  # 3: 4 above 0, 1 and 2 beside it
        [1.0, 0.0, 0.0, 7.0, 9.0],
    ]
)


def by_table(nodes: Tensor) -> Tensor:
    return TABLE[nodes]


def test_ranks_worked_out_by_hand() -> None:
    found = full_ranking(by_table, torch.tensor([[0], [3]]), KNOWN, stream(0))
    assert found.asked.tolist() == [[0, 3], [3, 0]]
    assert found.ranks.tolist() == [2, 1 + 1 + 2 / 2]
    assert found.metrics() == {"rank_mrr": pytest.approx((1 / 2 + 1 / 3) / 2)}
    assert not found.sampled


def test_the_scores_given_are_left_as_they_are() -> None:
    before = TABLE.clone()
    full_ranking(lambda nodes: TABLE, torch.arange(5).repeat(2, 1), KNOWN, stream(0))
    assert TABLE.equal(before)


def test_another_held_out_partner_is_no_candidate() -> None:
    # Both 3 and 2 are held out of 0: neither is in the other's way.
    known = Graph.from_edges([(0, 1), (0, 2), (0, 3)], num_nodes=5)
    found = full_ranking(by_table, torch.tensor([[0, 0], [2, 3]]), known, stream(0))
    of_zero = dict(zip(found.asked[1].tolist(), found.ranks.tolist(), strict=True))
    assert (of_zero[2], of_zero[3]) == (1, 1)


def test_hits_count_ranks_up_to_k_and_need_more_nodes() -> None:
    ranks = torch.tensor([1.0, 10.0, 10.5, 51.0])
    found = Ranking(torch.zeros(2, 4), ranks, num_nodes=60, possible=4).metrics()
    assert (found["rank_hits@10"], found["rank_hits@50"]) == (0.5, 0.75)
    assert "rank_hits@50" not in Ranking(torch.zeros(2, 4), ranks, 50, 4).metrics()


def plain_ranks(table: Tensor, pairs: Tensor, known: Graph) -> dict[tuple[int, int], float]:
    """The definition, one candidate at a time."""
    edges = {tuple(sorted(pair)) for pair in known.pairs.T.tolist()}
    found = {}
    for u, v in [*pairs.T.tolist(), *pairs.flip(0).T.tolist()]:
        rank = 1.0
        for w in range(known.num_nodes):
            if w not in (u, v) and tuple(sorted((u, w))) not in edges:
                rank += float(table[u, w] > table[u, v]) + 0.5 * float(table[u, w] == table[u, v])
        found[u, v] = rank
    return found


@pytest.mark.parametrize("block", [1, 100, 2**22])
@pytest.mark.parametrize("levels", [3, 10**6])
def test_it_equals_a_plain_loop(block: int, levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "BLOCK_NUMBERS", block)
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(0, 30, (2, 90), generator=generator)
    known = Graph.from_edges(edges, 30)
    pairs = known.pairs[:, ::4]
    table = torch.randint(0, levels, (30, 30), generator=generator).float()
    found = full_ranking(lambda nodes: table[nodes], pairs, known, stream(0))
    ours = zip(*found.asked.tolist(), found.ranks.tolist(), strict=True)
    assert {(u, v): rank for u, v, rank in ours} == plain_ranks(table, pairs, known)


def test_precision_is_that_of_the_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    whole = Graph.from_edges(torch.randint(0, 30, (2, 120), generator=generator), 30)
    held_out = torch.arange(whole.num_pairs) % 3 == 0
    pairs, seen = whole.pairs[:, held_out], whole.subgraph(~held_out)
    table = torch.rand(30, 30, generator=generator)
    found = full_ranking(lambda nodes: table[nodes], pairs, whole, stream(0)).precision(12)
    lists = table.clone()
    lists[left_out(seen, torch.arange(30))] = -torch.inf
    best = lists.topk(12, dim=1).indices
    hits = whole.contains(torch.stack([torch.arange(30).repeat_interleave(12), best.flatten()]))
    shares = hits.view(30, 12).double().cumsum(1).mean(0) / torch.arange(1, 13)
    assert found == pytest.approx(shares.tolist())


def test_large_graphs_are_asked_from_a_stated_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "EXACT_NODES", 20)
    monkeypatch.setattr(ranking, "SAMPLED_ENDS", 7)
    ring = Graph.from_edges([(i, (i + 1) % 21) for i in range(21)])
    table = torch.rand(21, 21, generator=torch.Generator().manual_seed(0))
    runs = [full_ranking(lambda n: table[n], ring.pairs, ring, stream(s)) for s in (0, 0, 1)]
    assert (runs[0].ranks.numel(), runs[0].possible, runs[0].sampled) == (7, 42, True)
    assert runs[0].asked.equal(runs[1].asked) and not runs[0].asked.equal(runs[2].asked)
    whole = full_ranking(lambda n: table[n], ring.pairs, ring, stream(0), ends=100)
    assert not whole.sampled
    ranks = {(u, v): r for u, v, r in zip(*whole.asked.tolist(), whole.ranks, strict=True)}
    asked = zip(*runs[0].asked.tolist(), runs[0].ranks, strict=True)
    assert all(ranks[u, v] == rank for u, v, rank in asked)


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(InputError, match="at least one held-out pair"):
        full_ranking(by_table, torch.empty(2, 0, dtype=torch.long), KNOWN, stream(0))
    with pytest.raises(RunError, match="NaN"):
        full_ranking(lambda n: torch.full((n.numel(), 5), torch.nan), KNOWN.pairs, KNOWN, stream(0))
