"""Batches that share their ends: the same targets and negatives, met in fewer nodes."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.data.negatives import NonEdges
from maskgae.datasets.generated import generate
from maskgae.nn.network import MaskGAENet
from maskgae.training.parallel import Ranks
from maskgae.training.shared import TOGETHER, shared_negatives, shared_order
from maskgae.training.steps import Steps

pytestmark = pytest.mark.usefixtures("global_rng_untouched")

GRAPH = generate(2000, 12_000, num_features=8, seed=0)


def steps(ranks: Ranks | None = None, **values: Any) -> Steps:
    given = {"training.batches": "shared", "training.fanouts": [3], "training.batch_pairs": 400}
    settings = Settings().updated({**given, **values})
    return Steps(GRAPH, settings, stream(0, "run"), ranks or Ranks())


def test_every_target_has_its_turn_once_in_batches_of_one_size() -> None:
    source = steps()
    masked = source.mask(2)
    batches = list(source.batches(masked, 2))
    assert torch.cat(batches).sort().values.equal(masked.targets)
    assert {batch.numel() for batch in batches[:-1]} == {400}


@pytest.mark.parametrize("semantics", ["strict", "reference"])
def test_an_update_meets_fewer_nodes(semantics: str) -> None:
    sizes = {}
    for kind in ("random", "shared"):
        source = steps(**{"training.batches": kind, "mask.semantics": semantics})
        net, masked = MaskGAENet.for_graph(GRAPH, source.settings), source.mask(0)
        step = next(source.epoch(net, masked, 0))
        sizes[kind] = (step.adjacencies[-1].num_dst, step.x.num_rows)
    assert sizes["shared"][0] < 0.6 * sizes["random"][0]
    assert sizes["shared"][1] < 0.9 * sizes["random"][1]


def test_the_targets_of_a_hub_come_in_several_batches() -> None:
    star = Graph.from_edges([(0, i) for i in range(1, 1001)])
    settings = Settings().updated({"mask.kind": "none"})
    masked = Steps(star, settings, stream(0)).mask(0)
    order = shared_order(star, masked, stream(0, "order"))
    assert order.sort().values.equal(masked.targets)
    # Half of them belong to the hub, in parts that lie apart.
    places = np.sort(np.argsort(order.numpy())[:TOGETHER])
    assert places.max() - places.min() > 100


def test_the_order_follows_from_its_address() -> None:
    masked = steps().mask(0)
    one, again, other = (shared_order(GRAPH, masked, stream(0, e)) for e in (1, 1, 2))
    assert one.equal(again) and not one.equal(other)


def test_negatives_are_even_non_edges_of_few_nodes() -> None:
    small = generate(400, 1500, seed=0)
    non_edges, counts = NonEdges(small), np.zeros(400)
    for step in range(300):
        drawn = shared_negatives(small, non_edges, 400, stream(0, step))
        assert drawn.shape == (2, 400) and drawn.unique().numel() <= 200
        assert bool((drawn[0] < drawn[1]).all()) and not small.contains(drawn).any()
        counts += np.bincount(drawn.flatten().numpy(), minlength=400)
    # A node is drawn as often as it has non-edges; draws of one sample go together.
    expected = 399 - small.degrees.numpy()
    assert np.abs(counts / counts.sum() - expected / expected.sum()).max() * 400 < 0.5
    assert stats.pearsonr(counts, expected)[0] > -0.2


def test_negatives_of_a_nearly_complete_graph_are_found() -> None:
    pairs = [(i, j) for i in range(260) for j in range(i + 1, 260) if (i, j) != (3, 7)]
    graph = Graph.from_edges(pairs)
    drawn = shared_negatives(graph, NonEdges(graph), 400, stream(0))
    assert drawn.unique(dim=1).tolist() == [[3], [7]]


def test_ranks_and_resumed_runs_see_the_same() -> None:
    whole, net = steps(), MaskGAENet.for_graph(GRAPH, steps().settings)
    masked = whole.mask(0)
    third = list(whole.epoch(net, masked, 0))[2]
    again = next(steps().epoch(net, masked, 0, first=2))
    assert third.targets.equal(again.targets) and third.negatives.equal(again.negatives)
    assert third.adjacencies[0].csr.indices.equal(again.adjacencies[0].csr.indices)
    parts = [next(steps(Ranks(r, 2)).epoch(net, masked, 0)) for r in range(2)]
    first = next(whole.epoch(net, masked, 0))
    assert sum(part.targets.shape[1] for part in parts) == first.targets.shape[1]
