"""Steps: an epoch's targets once each, unseen, with fresh negatives."""

from typing import Any

import pytest
import torch

from maskgae.config import Settings
from maskgae.graph import Graph
from maskgae.model import MaskGAENet
from maskgae.rng import stream
from maskgae.training.steps import Steps

pytestmark = pytest.mark.usefixtures("global_rng_untouched")


def settings(**values: Any) -> Settings:
    return Settings().updated({k.replace("__", "."): v for k, v in values.items()})


def steps(graph: Graph, **values: Any) -> Steps:
    return Steps(graph, settings(**values), stream(0, "run"))


@pytest.mark.parametrize("semantics", ["strict", "reference"])
@pytest.mark.parametrize("size", [0, 1, 50, 10**6])
def test_batches_hold_each_target_once(graph: Graph, semantics: str, size: int) -> None:
    source = steps(graph, training__batch_pairs=size, mask__semantics=semantics)
    masked = source.mask(3)
    batches = list(source.batches(masked, 3))
    assert torch.cat(batches).sort().values.equal(masked.targets.sort().values)
    assert {batch.numel() for batch in batches[:-1]} <= {size}


def test_batches_are_shuffled_anew_in_every_epoch(graph: Graph) -> None:
    source = steps(graph, training__batch_pairs=50)
    masked = source.mask(0)
    once, again, other = (next(source.batches(masked, epoch)) for epoch in (1, 1, 2))
    assert once.equal(again)
    assert not once.equal(other)


def test_masks_depend_on_the_epoch_alone(graph: Graph) -> None:
    source = steps(graph)
    assert source.mask(5).visible.equal(steps(graph).mask(5).visible)
    assert not source.mask(5).visible.equal(source.mask(6).visible)


@pytest.mark.parametrize("loss", ["bce", "info_nce"])
def test_negatives_are_non_edges_in_the_right_number(graph: Graph, loss: str) -> None:
    source = steps(graph, objective__negatives=3, objective__loss=loss)
    drawn = source.negatives(100, epoch=2, step=1)
    assert drawn.shape == (2, 300)
    assert not graph.contains(drawn).any() and bool((drawn[0] != drawn[1]).all())
    assert drawn.equal(source.negatives(100, epoch=2, step=1))
    assert not drawn.equal(source.negatives(100, epoch=2, step=2))
    assert not drawn.equal(source.negatives(100, epoch=3, step=1))


def test_a_target_owns_a_random_part_of_the_negatives_where_the_loss_compares(graph: Graph) -> None:
    ascending, dealt = (
        steps(graph, objective__loss=loss).negatives(200, 0, 0) for loss in ("bce", "log_rank")
    )
    assert ascending[0].equal(ascending[0].sort().values)
    assert not dealt.equal(ascending)
    assert dealt[:, dealt[0].argsort(stable=True)][0].equal(ascending[0])


@pytest.mark.parametrize("kind", ["edge", "path"])
def test_no_step_shows_a_target_of_its_epoch(graph: Graph, kind: str) -> None:
    source = steps(graph, mask__kind=kind, training__batch_pairs=20)
    net, masked = MaskGAENet.for_graph(graph, source.settings), source.mask(0)
    seen, targets = set(), set()
    found = list(source.epoch(net, masked, 0))
    for step in found:
        for adjacency in step.adjacencies:
            csr = adjacency.csr
            seen |= set(zip(csr.row_of_entry().tolist(), csr.indices.tolist(), strict=True))
        targets |= {tuple(pair) for pair in step.targets.T.tolist()}
        assert step.negatives.shape == step.targets.shape
        assert step.degrees.equal(masked.degrees)
    assert len(found) > 1
    assert len(targets) == masked.targets.numel()
    assert not seen & (targets | {(v, u) for u, v in targets})
