"""Held-out pairs: scored on the whole graph, or by blocks with the same neighbours every time."""

from dataclasses import replace

import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.data.splits import joined
from maskgae.evaluation.hard import hard_metrics
from maskgae.evaluation.method import Validation
from maskgae.evaluation.ranking import full_ranking
from maskgae.nn.losses import row_logits
from maskgae.nn.network import MaskGAENet
from maskgae.training import held_out
from maskgae.training.held_out import HeldOut

pytestmark = pytest.mark.usefixtures("global_rng_untouched")


def with_fanouts(*fanouts: int) -> Settings:
    return Settings().updated({"training.fanouts": fanouts})


def test_blocks_with_all_neighbours_score_as_the_whole_graph(
    graph: Graph, validation: Validation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_out, "PAIRS_A_BLOCK", 17)
    net = MaskGAENet.for_graph(graph, Settings())
    whole, cut = (
        HeldOut(graph, validation, settings, stream(0)).logits(net)
        for settings in (with_fanouts(), with_fanouts(-1))
    )
    for one, other in zip(whole, cut, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
    assert whole[0].shape == (validation.pairs.shape[1],)
    assert net.training


def test_a_sample_is_the_same_every_time(
    graph: Graph, validation: Validation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_out, "MOST_PAIRS", 20)
    net = MaskGAENet.for_graph(graph, Settings())
    ours = HeldOut(graph, validation, with_fanouts(3), stream(0))
    assert [part.numel() for part in ours.logits(net)] == [20, 20]
    assert all(a.equal(b) for a, b in zip(ours.logits(net), ours.logits(net), strict=True))
    assert HeldOut(graph, validation, with_fanouts(), stream(0)).count > 20


def test_validation_sees_more_neighbours_than_training_may(
    graph: Graph, validation: Validation
) -> None:
    seen = {
        few: HeldOut(graph, validation, with_fanouts(few), stream(0)).fanouts for few in (3, -1)
    }
    assert seen == {3: (held_out.SEEN,) * 2, -1: (-1, -1)}
    wide = HeldOut(graph, validation, with_fanouts(40, 3), stream(0)).fanouts
    assert wide == (40, held_out.SEEN)


def by_rank(*fanouts: int) -> Settings:
    return with_fanouts(*fanouts).updated({"training.select": "val_rank"})


def test_the_rank_is_that_of_a_full_ranking(graph: Graph, validation: Validation) -> None:
    net = MaskGAENet.for_graph(graph, Settings())
    z = net.encode(graph)[-1]
    known = joined(graph, validation.pairs, None)
    full = full_ranking(
        lambda nodes: row_logits(z, net.decoder, nodes), validation.pairs, known, stream(0)
    )
    for settings in (by_rank(), by_rank(-1)):
        found = HeldOut(graph, validation, settings, stream(0)).rank_mrr(net)
        assert found == pytest.approx(full.metrics()["rank_mrr"], rel=1e-3)
    assert net.training


def test_validation_pairs_are_no_candidates(graph: Graph, validation: Validation) -> None:
    queries = held_out.Queries.of(graph, validation, stream(0))
    flags = dict(zip(queries.asked[0].tolist(), queries.left_out, strict=True))
    both = [*validation.pairs.T.tolist(), *validation.pairs.flip(0).T.tolist()]
    assert all(flags[u][v] and flags[u][u] for u, v in both)


@pytest.mark.parametrize("fanouts", [(), (3,)])
def test_a_sample_of_ends_and_candidates_is_the_same_every_time(
    graph: Graph, validation: Validation, fanouts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_out, "ASKED_ENDS", 20)
    monkeypatch.setattr(held_out, "CANDIDATES", 50)
    net = MaskGAENet.for_graph(graph, Settings())
    ours, again = (HeldOut(graph, validation, by_rank(*fanouts), stream(0)) for _ in range(2))
    assert ours.queries is not None and ours.queries.left_out.shape == (20, 50)
    assert ours.rank_mrr(net) == ours.rank_mrr(net) == again.rank_mrr(net)


def test_hard_ranks_are_those_of_the_whole_graph(graph: Graph, validation: Validation) -> None:
    net = MaskGAENet.for_graph(graph, Settings())
    pairs, width = validation.pairs, 6
    hard = torch.randint(graph.num_nodes, (2, pairs.shape[1], width), generator=stream(0).torch())
    logits = net.score(graph, torch.cat([pairs, hard.reshape(2, -1)], dim=1))
    own, others = logits[: pairs.shape[1]], logits[pairs.shape[1] :].view(-1, width)
    expected = hard_metrics(own.numpy(), others.numpy())["hard_mrr"]
    given = replace(validation, hard=hard)
    for fanouts in ((), (-1,)):
        settings = with_fanouts(*fanouts).updated({"training.select": "val_hard"})
        found = HeldOut(graph, given, settings, stream(0)).mrr(net)
        assert found == pytest.approx(expected, rel=1e-3)
    with pytest.raises(InputError, match="hard negatives"):
        HeldOut(graph, validation, settings, stream(0))
