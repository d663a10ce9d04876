"""Held-out pairs: scored on the whole graph, or by blocks with the same neighbours every time."""

import pytest
import torch

from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.evaluation.method import Validation
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
