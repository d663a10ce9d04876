"""PyG's layers as encoders: the same numbers as by hand, on the whole graph and on blocks."""

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn

from maskgae import Graph, MaskGAENet
from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.nn import EdgeIndexConv
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.layerwise import layer_outputs

EDGES = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 3]])
BOTH = torch.cat([EDGES, EDGES.flip(0)], dim=1)
X = torch.randn(6, 8, generator=stream(0, "x").torch())
SETTINGS = Settings().updated({"encoder.norm": "none", "objective.alpha": 0.01})


def layers() -> list[nn.Module]:
    return [pyg.GATv2Conv(8, 5, heads=2), pyg.TransformerConv(10, 4, heads=3, concat=False)]


def test_a_net_is_called_with_x_and_edge_index() -> None:
    net = MaskGAENet(8, SETTINGS).eval()
    graph = Graph.from_edges(EDGES, features=X)
    torch.testing.assert_close(net(X, BOTH), net.encode(graph)[-1])
    assert net(X, BOTH).equal(net(X, EDGES))
    torch.testing.assert_close(net.decode(net(X, BOTH), EDGES), net.score(graph, EDGES))


def test_training_mode_drops_and_counts_its_calls(global_rng_untouched) -> None:
    net = MaskGAENet(8, SETTINGS)
    first, second = net(X, BOTH), net(X, BOTH)
    assert not first.equal(second)
    assert first.equal(MaskGAENet(8, SETTINGS)(X, BOTH))
    assert net(X, BOTH, stream(1)).equal(net(X, BOTH, stream(1)))


def test_foreign_layers_give_what_they_give_by_hand() -> None:
    net = MaskGAENet(8, SETTINGS, convs=layers()).eval()
    first, second = (conv.conv for conv in net.encoder.convs)
    act = net.encoder.activations
    expected = act[1](second(act[0](first(X, BOTH)), BOTH))
    torch.testing.assert_close(net(X, BOTH), expected)
    assert net.encoder.widths == [10, 4]
    assert net.settings.encoder.layers == 2


def test_foreign_weights_follow_from_the_seed(global_rng_untouched) -> None:
    with torch.random.fork_rng():
        nets = [MaskGAENet(8, SETTINGS, convs=layers()) for _ in range(2)]
    one, other = (net.state_dict() for net in nets)
    assert all(one[name].equal(other[name]) for name in one)


def test_every_weight_learns() -> None:
    with torch.random.fork_rng():
        net = MaskGAENet(8, SETTINGS, convs=layers())
    net.decode(net(X, BOTH), EDGES).square().sum().backward()
    lost = [name for name, p in net.named_parameters() if p.grad is None]
    assert all(name.startswith("degree_decoder") for name in lost)


def test_chunks_of_rows_give_the_whole() -> None:
    with torch.random.fork_rng():
        net = MaskGAENet(8, SETTINGS, convs=[pyg.SAGEConv(8, 5)]).eval()
    graph = Graph.from_edges(EDGES, features=X)
    whole = net.encoder(net.encoder.input(graph.features), [Adjacency.of(graph)])[-1]
    rows = torch.tensor([1, 4])
    with torch.no_grad():
        found = layer_outputs(net.encoder, net.encoder.input(graph.features), graph, rows)[-1]
    torch.testing.assert_close(found, whole[rows])


def test_widths_are_checked_and_may_be_told() -> None:
    with pytest.raises(InputError, match="takes 9 columns, but the one before gives 8"):
        MaskGAENet(8, SETTINGS, convs=[pyg.SAGEConv(9, 5)])
    gin = pyg.GINConv(nn.Linear(8, 6))
    with pytest.raises(InputError, match="does not say how wide it is"):
        MaskGAENet(8, SETTINGS, convs=[gin])
    told = EdgeIndexConv(gin, in_channels=8, out_channels=6)
    assert MaskGAENet(8, SETTINGS, convs=[told])(X, BOTH).shape == (6, 6)
