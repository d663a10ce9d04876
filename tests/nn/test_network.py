"""The network: every weight learns, everything random has an address, bad graphs are refused."""

from typing import Any

import numpy as np
import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.masking import draw_mask
from maskgae.nn import Adjacency
from maskgae.nn.convs import CONVS
from maskgae.nn.layerwise import smoothed
from maskgae.nn.losses import LOSSES, degree_loss
from maskgae.nn.network import MaskGAENet, Step

pytestmark = pytest.mark.usefixtures("global_rng_untouched")

KINDS = tuple(CONVS)


@pytest.fixture(scope="module")
def graph() -> Graph:
    rng = np.random.default_rng(0)
    return Graph.from_edges(rng.integers(0, 40, (2, 120)), 42, features=rng.normal(size=(42, 9)))


def settings(**values: Any) -> Settings:
    small = {"encoder.hidden": 8, "encoder.dim": 6, "encoder.heads": 2, "decoder.hidden": 5}
    return Settings().updated(small | {k.replace("__", "."): v for k, v in values.items()})


def step(net: MaskGAENet, graph: Graph) -> Step:
    masked = draw_mask(graph, net.settings.mask, 2, stream(0, "mask"))
    wanted = masked.targets.numel() * net.settings.objective.negatives
    negatives = np.random.default_rng(1).integers(0, 42, (2, wanted))
    return Step(
        x=net.encoder.input(graph.features),
        adjacencies=[Adjacency.of(graph, masked.visible)] * 2,
        targets=graph.pairs[:, masked.targets],
        negatives=torch.from_numpy(negatives),
        degrees=masked.degrees,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", ["layer", "none", "batch"])
def test_every_weight_gets_a_gradient(graph: Graph, kind: str, norm: str) -> None:
    values = {"encoder__activation": "prelu", "encoder__node_embedding": 3, "objective__alpha": 0.1}
    net = MaskGAENet.for_graph(graph, settings(encoder__kind=kind, encoder__norm=norm, **values))
    net.loss(step(net, graph), stream(0, "noise")).backward()
    idle = {
        name
        for name, value in net.named_parameters()
        if value.grad is None or value.grad.abs().max() < 1e-6
    }
    assert not idle


def test_the_loss_is_pairs_plus_alpha_times_degrees(graph: Graph) -> None:
    net = MaskGAENet.for_graph(
        graph, settings(objective__alpha=0.25, encoder__dropout=0, decoder__dropout=0)
    )
    given = step(net, graph)
    z = net.encoder(given.x, given.adjacencies)[-1]
    positive, negative = (
        net.decoder(z[pairs[0]] * z[pairs[1]]) for pairs in (given.targets, given.negatives)
    )
    assert net.degree_decoder is not None
    pairs = LOSSES["bce"](positive, negative.unsqueeze(1)).mean()
    expected = pairs + 0.25 * degree_loss(net.degree_decoder(z), given.degrees)
    torch.testing.assert_close(net.loss(given, stream(0)), expected)


def test_without_alpha_there_is_no_degree_decoder(graph: Graph) -> None:
    assert MaskGAENet.for_graph(graph, settings()).degree_decoder is None


def test_weights_follow_the_seed(graph: Graph) -> None:
    once, again, other = (
        MaskGAENet.for_graph(graph, settings(seed=seed)).state_dict() for seed in (1, 1, 2)
    )
    assert all(once[name].equal(again[name]) for name in once)
    assert not once["encoder.convs.0.lin.weight"].equal(other["encoder.convs.0.lin.weight"])


def test_dropout_follows_the_stream(graph: Graph) -> None:
    net = MaskGAENet.for_graph(graph, settings(objective__alpha=0.1))
    given = step(net, graph)
    once, again, other = (net.loss(given, stream(0, "noise", epoch)).item() for epoch in (1, 1, 2))
    assert once == again != other


@pytest.mark.parametrize("kind", KINDS)
def test_embedding_repeats_itself_and_leaves_the_mode_alone(graph: Graph, kind: str) -> None:
    net = MaskGAENet.for_graph(graph, settings(encoder__kind=kind))
    net.loss(step(net, graph), stream(0))
    once = net.embed(graph)
    assert net.training
    assert once.equal(net.eval().embed(graph))
    assert not net.training and not once.requires_grad


@pytest.mark.parametrize(
    ("values", "width"),
    [
        ({}, 8 + 6),
        ({"embedding__layers": "last"}, 6),
        ({"encoder__layers": 3}, 8 + 8 + 6),
        ({"embedding__propagated": 2}, 8 + 6 + 9),
    ],
)
def test_width_of_the_embedding(graph: Graph, values: dict[str, Any], width: int) -> None:
    assert MaskGAENet.for_graph(graph, settings(**values)).embed(graph).shape == (42, width)


def test_propagated_features_by_hand() -> None:
    path = Graph.from_edges([(0, 1)], 3, features=[[1.0], [3.0], [5.0]])
    assert path.features is not None
    assert smoothed(path, path.features, 2).flatten().tolist() == pytest.approx([2, 2, 5])


def test_weights_of_another_network_are_refused() -> None:
    net = MaskGAENet(4, settings())
    net.check_state(net.state_dict(), "m.pt does not fit")
    with pytest.raises(InputError, match=r"m\.pt does not fit: .* is \(\(5, 8\).* and \(\(4, 8\)"):
        net.check_state(MaskGAENet(5, settings()).state_dict(), "m.pt does not fit")
    with pytest.raises(InputError, match="is missing there and"):
        net.check_state({}, "m.pt does not fit")
    double = {name: value.double() for name, value in net.state_dict().items()}
    with pytest.raises(InputError, match=r"float64\) there and .*float32\) here"):
        net.check_state(double, "m.pt does not fit")


def test_normalised_rows(graph: Graph) -> None:
    rows = MaskGAENet.for_graph(graph, settings(embedding__normalize="l2")).embed(graph).norm(dim=1)
    torch.testing.assert_close(rows, torch.ones(42))


@pytest.mark.parametrize("decoder", ["mlp", "dot"])
def test_scores_are_the_decoders_logits_and_know_no_direction(graph: Graph, decoder: str) -> None:
    net = MaskGAENet.for_graph(graph, settings(decoder__kind=decoder))
    z, pairs = net.encode(graph)[-1], torch.tensor([[0, 3, 5], [1, 2, 41]])
    scores = net.score(graph, pairs)
    torch.testing.assert_close(scores, net.decoder(z[pairs[0]] * z[pairs[1]]).detach())
    assert net.score(graph, pairs.flip(0)).equal(scores)


def test_node_vectors_serve_a_graph_without_features(graph: Graph) -> None:
    bare = Graph(graph.num_nodes, graph.pairs)
    net = MaskGAENet.for_graph(bare, settings(encoder__node_embedding=7))
    assert net.embed(bare).shape == (42, 14)
    with pytest.raises(InputError, match="embeddings of 42 nodes, but the graph has 3"):
        net.embed(Graph.from_edges([(0, 1)], 3))


def test_a_graph_of_another_width_is_refused(graph: Graph) -> None:
    net = MaskGAENet.for_graph(graph, settings())
    with pytest.raises(InputError, match="features of 9 columns, but the graph has 2"):
        net.embed(Graph.from_edges([(0, 1)], features=np.ones((2, 2))))
