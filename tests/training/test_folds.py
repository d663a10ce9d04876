"""Folds: the inputs of a step are made without its targets, and all lie in one basis."""

from __future__ import annotations

import pytest
import torch

from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.features import DenseFeatures
from maskgae.data.graph import Graph
from maskgae.datasets.generated import generate
from maskgae.nn.network import MaskGAENet
from maskgae.training.folds import Folds
from maskgae.training.steps import Steps

SETTINGS = Settings().updated({"encoder.structure": 8, "mask.folds": 4})
STREAM = Stream(0)


def graph_of(table: bool) -> Graph:
    graph = generate(60, 240, communities=3, homophily=0.9, seed=0, num_features=0)
    columns = DenseFeatures(torch.zeros(60, 8))
    if not table:
        return graph.with_features(columns)
    return graph.with_features(DenseFeatures(torch.ones(60, 3))).with_made(columns)


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("fanouts", [[], [3, 3]])
def test_inputs_are_the_same_whether_or_not_the_targets_are_there(
    table: bool, fanouts: list[int]
) -> None:
    settings = SETTINGS.updated({"training.fanouts": fanouts})
    graph = graph_of(table)
    net = MaskGAENet.for_graph(graph, settings)
    steps = Steps(graph, settings, STREAM)
    for epoch in range(4):
        masked = steps.mask(epoch)
        without = graph.subgraph(masked.visible)
        assert without.num_pairs < graph.num_pairs
        seen = steps.folds.seen(epoch)
        columns = seen.made if table else seen.features
        # The same seen by someone who never knew of the targets.
        blind = Folds(without, settings, STREAM)._columns(int(steps.folds.fold[masked.targets[0]]))
        assert torch.equal(columns.dense(), blind.dense())
        step = next(steps.epoch(net, masked, epoch))
        assert step.x.num_columns == net.encoder.in_channels


def test_folds_are_a_partition_that_epochs_go_through() -> None:
    graph = graph_of(False)
    steps = Steps(graph, SETTINGS, STREAM)
    hidden = torch.stack([~steps.mask(epoch).visible for epoch in range(4)])
    assert (hidden.sum(0) == 1).all()
    assert torch.equal(steps.mask(0).targets, steps.mask(4).targets)


def test_a_handful_of_edges_has_fewer_folds() -> None:
    graph = Graph.from_edges([(0, 1), (1, 2)]).with_features(DenseFeatures(torch.zeros(3, 8)))
    folds = Folds(graph, SETTINGS, STREAM)
    for epoch in range(3):
        assert folds.mask(epoch).targets.numel()
        assert torch.isfinite(folds.seen(epoch).features.dense()).all()


def test_a_plain_autoencoder_sees_everything() -> None:
    steps = Steps(graph_of(False), SETTINGS.updated({"mask.kind": "none"}), STREAM)
    assert steps.folds is None
    assert steps.mask(0).visible.all()
