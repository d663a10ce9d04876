"""Statistics of batch normalisation, estimated again from every node."""

import pytest
import torch
from torch import nn

from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.nn import Adjacency, layerwise
from maskgae.nn.convs import CONVS
from maskgae.nn.network import MaskGAENet
from maskgae.training.batch_norm import reestimate


@pytest.mark.parametrize("kind", tuple(CONVS))
def test_statistics_are_those_of_the_whole_graph(
    kind: str, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layerwise, "SWEEP_NUMBERS", 500)
    small = {"encoder.kind": kind, "encoder.hidden": 16, "encoder.dim": 8, "encoder.dropout": 0.0}
    net = MaskGAENet.for_graph(graph, Settings().updated(small))
    reestimate(net, graph)
    ours = {name: value.clone() for name, value in net.named_buffers()}
    for norm in net.encoder.norms:
        assert isinstance(norm, nn.BatchNorm1d)
        norm.momentum = 1.0  # the statistics of the last forward
    assert graph.features is not None
    net.encoder(graph.features, [Adjacency.of(graph)] * 2)
    for name, value in net.named_buffers():
        if name.endswith(("mean", "var")):
            # A batch is normalised by the biased variance, 1 in 120 smaller than the running one.
            torch.testing.assert_close(ours[name], value, atol=5e-3, rtol=2e-2)


def test_other_normalisations_stay_as_they_are(graph: Graph) -> None:
    net = MaskGAENet.for_graph(graph, Settings().updated({"encoder.norm": "layer"}))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    reestimate(net, graph)
    assert all(value.equal(before[name]) for name, value in net.state_dict().items())
