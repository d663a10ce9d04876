"""Steps: an epoch's targets once each, unseen, with fresh negatives."""

from collections.abc import Iterator
from threading import Event, active_count
from typing import Any

import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.nn.convs import CONVS
from maskgae.nn.network import MaskGAENet, Step
from maskgae.training.parallel import Ranks
from maskgae.training.steps import Steps, ahead, fanouts_by_hop

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
    targets = graph.pairs[:, :100]
    drawn = source.negatives(targets, epoch=2, step=1)
    assert drawn.shape == (2, 300)
    assert not graph.contains(drawn).any() and bool((drawn[0] != drawn[1]).all())
    assert drawn.equal(source.negatives(targets, epoch=2, step=1))
    assert not drawn.equal(source.negatives(targets, epoch=2, step=2))
    assert not drawn.equal(source.negatives(targets, epoch=3, step=1))


def test_a_target_owns_a_random_part_of_the_negatives_where_the_loss_compares(graph: Graph) -> None:
    ascending, dealt = (
        steps(graph, objective__loss=loss).negatives(graph.pairs[:, :200], 0, 0)
        for loss in ("bce", "info_nce")
    )
    assert ascending[0].equal(ascending[0].sort().values)
    assert not dealt.equal(ascending)
    assert dealt[:, dealt[0].argsort(stable=True)][0].equal(ascending[0])


@pytest.mark.parametrize("kind", ["even", "degree", "mixed"])
@pytest.mark.parametrize("ranks", [Ranks(), Ranks(1, 3)])
def test_corrupted_pairs_keep_the_ends_of_their_own_target(
    graph: Graph, kind: str, ranks: Ranks
) -> None:
    values = settings(
        objective__corrupt=kind, objective__negatives=2, training__batch_pairs=50, seed=1
    )
    source = Steps(graph, values, stream(0, "run"), ranks)
    net, masked = MaskGAENet.for_graph(graph, values), source.mask(0)
    for step in source.epoch(net, masked, 0):
        # [T, 4]
        kept, other = step.negatives.view(2, -1, 4)
        assert kept[:, :2].equal(step.targets[0].unsqueeze(1).expand(-1, 2))
        assert kept[:, 2:].equal(step.targets[1].unsqueeze(1).expand(-1, 2))
        assert not graph.contains(step.negatives).any() and bool((kept != other).all())


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


def test_fanouts_repeat_the_last_and_are_no_more_than_layers() -> None:
    assert fanouts_by_hop(settings()) == ()
    assert fanouts_by_hop(settings(training__fanouts=7)) == (7, 7)
    with pytest.raises(InputError, match=r"\[1, 2, 3\] has more hops than encoder.layers = 2"):
        fanouts_by_hop(settings(training__fanouts=[1, 2, 3]))


def test_an_epoch_can_end_before_its_targets_do(graph: Graph) -> None:
    source = steps(graph, training__batch_pairs=20, training__epoch_steps=3)
    masked = source.mask(0)
    batches = list(source.batches(masked, 0))
    assert [batch.numel() for batch in batches] == [20, 20, 20]
    assert torch.cat(batches).unique().numel() == 60


@pytest.mark.parametrize("kind", ["edge", "path"])
def test_blocks_show_no_target_and_hold_the_same_pairs(graph: Graph, kind: str) -> None:
    values = {"mask__kind": kind, "training__batch_pairs": 20, "objective__negatives": 2}
    whole, cut = (steps(graph, training__fanouts=f, **values) for f in ((), (-1, 4)))
    net, masked = MaskGAENet.for_graph(graph, whole.settings), whole.mask(0)
    hidden = graph.subgraph(masked.targets)
    for plain, block in zip(whole.epoch(net, masked, 0), cut.epoch(net, masked, 0), strict=True):
        seeds = torch.cat([plain.targets, plain.negatives], dim=1).unique()
        assert seeds[block.targets].equal(plain.targets)
        assert seeds[block.negatives].equal(plain.negatives)
        assert block.degrees.equal(masked.degrees[seeds])
        last = block.adjacencies[-1]
        assert last.num_dst == seeds.numel() and block.x.num_rows == block.adjacencies[0].num_src
        ends = seeds[last.csr.row_of_entry()], nodes_of(block, graph)[last.csr.indices]
        assert not hidden.contains(torch.stack(ends)).any()


def nodes_of(step: Step, graph: Graph) -> torch.Tensor:
    """Finds the nodes of a block by their features, which are all different."""
    assert graph.features is not None
    return (step.x.dense().unsqueeze(1) == graph.features.dense()).all(-1).nonzero()[:, 1]


@pytest.mark.parametrize("kind", tuple(CONVS))
def test_a_step_on_blocks_learns_what_one_on_the_whole_graph_does(graph: Graph, kind: str) -> None:
    values = {
        "encoder__kind": kind,
        "encoder__norm": "layer",
        "encoder__dropout": 0.0,
        "decoder__dropout": 0.0,
        "training__batch_pairs": 30,
    }
    net = MaskGAENet.for_graph(graph, settings(**values))
    found = []
    for fanouts in ((), (-1,)):
        source = steps(graph, training__fanouts=fanouts, **values)
        loss = net.loss(next(source.epoch(net, source.mask(0), 0)), stream(0))
        found.append([loss.detach(), *torch.autograd.grad(loss, list(net.parameters()))])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_steps_can_begin_anywhere(graph: Graph) -> None:
    source = steps(graph, training__batch_pairs=20, training__fanouts=[3])
    net, masked = MaskGAENet.for_graph(graph, source.settings), source.mask(0)
    third = list(source.epoch(net, masked, 0))[2]
    again = next(source.epoch(net, masked, 0, first=2))
    assert third.targets.equal(again.targets)
    assert third.adjacencies[0].csr.indices.equal(again.adjacencies[0].csr.indices)


def test_the_next_step_is_made_while_one_is_used() -> None:
    made = Event()

    def items() -> Iterator[int]:
        yield 1
        made.set()
        yield 2

    coming = ahead(items())
    assert next(coming) == 1
    assert made.wait(timeout=60)
    assert list(coming) == [2]


def test_what_goes_wrong_in_the_next_step_is_raised_in_its_turn() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise InputError("no more")

    coming = ahead(items())
    assert next(coming) == 1
    with pytest.raises(InputError, match="no more"):
        next(coming)


def test_steps_that_nobody_wants_any_more_leave_no_thread(graph: Graph) -> None:
    source = steps(graph, training__batch_pairs=50, training__fanouts=[2])
    net, before = MaskGAENet.for_graph(graph, source.settings), active_count()
    for _ in source.epoch(net, source.mask(0), 0):
        break
    assert active_count() == before
