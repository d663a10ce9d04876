"""The encoder: equivariant, fully trainable, the same on sparse and dense features."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.base.settings import EncoderConfig
from maskgae.data import DenseFeatures, Features, Graph
from maskgae.nn import Adjacency, Encoder
from maskgae.nn.convs import CONVS
from maskgae.nn.encoder import readout

pytestmark = pytest.mark.usefixtures("global_rng_untouched")

NODES, COLUMNS = 30, 20


@pytest.fixture(scope="module")
def graph() -> Graph:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(NODES, COLUMNS)) * (rng.random((NODES, COLUMNS)) < 0.1)
    return Graph.from_edges(rng.integers(0, NODES, (2, 80)), NODES, features=features)


def encoder(kind: str = "gcn", in_channels: int = COLUMNS, **settings: Any) -> Encoder:
    config = EncoderConfig(**{"kind": kind, "hidden": 8, "dim": 6, "heads": 2} | settings)
    made = Encoder(in_channels, config, NODES)
    made.reset_parameters(stream(0, "weights").torch())
    return made


def features(graph: Graph) -> Features:
    assert graph.features is not None
    return graph.features


def outputs(net: Encoder, graph: Graph, epoch: int | None = None) -> list[Tensor]:
    adjacencies = [Adjacency.of(graph)] * net.config.layers
    noise = None if epoch is None else stream(0, "noise", epoch)
    out: list[Tensor] = net(net.input(graph.features), adjacencies, noise)
    return out


@pytest.mark.parametrize("kind", CONVS)
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_every_layer_comes_out_with_its_width(graph: Graph, kind: str, layers: int) -> None:
    net = encoder(kind, layers=layers)
    widths = [8] * (layers - 1) + [6]
    assert net.widths == widths
    assert [tuple(out.shape) for out in outputs(net, graph)] == [(NODES, w) for w in widths]


@pytest.mark.parametrize("kind", CONVS)
@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("training", [False, True])
def test_renumbering_the_nodes_renumbers_the_output(
    graph: Graph, kind: str, norm: str, training: bool
) -> None:
    order = torch.from_numpy(np.random.default_rng(2).permutation(NODES))
    place = torch.empty_like(order)
    place[order] = torch.arange(NODES)  # node u of the graph is node place[u] of the other
    other = Graph.from_edges(place[graph.pairs], NODES, features=features(graph).dense()[order])
    net = encoder(kind, norm=norm).train(training)
    for ours, theirs in zip(outputs(net, graph), outputs(net, other), strict=True):
        torch.testing.assert_close(theirs, ours[order], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", CONVS)
def test_sparse_and_dense_features_give_the_same_output(graph: Graph, kind: str) -> None:
    net = encoder(kind)
    adjacencies = [Adjacency.of(graph)] * 2
    dense = net(DenseFeatures(features(graph).dense()), adjacencies)
    for ours, theirs in zip(outputs(net, graph), dense, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", CONVS)
def test_a_row_chunk_at_each_layer_equals_the_whole(graph: Graph, kind: str) -> None:
    net = encoder(kind).eval()
    whole = Adjacency.of(graph)
    last = Adjacency(whole.csr.rows(torch.arange(7)), whole.degrees)
    ours = net(net.input(features(graph)), [whole, last])[-1]
    torch.testing.assert_close(ours, outputs(net, graph)[-1][:7], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("node_embedding", [0, 5])
def test_noise_comes_from_the_stream_alone(graph: Graph, node_embedding: int) -> None:
    net = encoder(node_embedding=node_embedding, dropout=0.5)
    once, again, other = (outputs(net, graph, epoch)[-1] for epoch in (1, 1, 2))
    assert once.equal(again)
    assert not once.equal(other)
    assert not once.equal(outputs(net, graph)[-1])


def test_weights_come_from_the_generator_alone() -> None:
    once, again = (encoder().state_dict() for _ in range(2))
    net = encoder()
    net.reset_parameters(stream(1, "weights").torch())
    other = net.state_dict()
    assert all(once[name].equal(again[name]) for name in once)
    assert not once["convs.0.lin.weight"].equal(other["convs.0.lin.weight"])
    # Glorot's bound for 20 in and 8 out, nearly reached by 160 draws.
    assert 0.9 < float(once["convs.0.lin.weight"].abs().max()) / (6 / 28) ** 0.5 <= 1


@pytest.mark.parametrize("kind", CONVS)
def test_drawing_weights_anew_leaves_nothing_of_a_training(graph: Graph, kind: str) -> None:
    net = encoder(kind, node_embedding=3, activation="prelu")
    fresh = {name: value.clone() for name, value in net.state_dict().items()}
    outputs(net.train(), graph)  # moves the statistics of batch normalisation
    for parameter in net.parameters():
        parameter.data.add_(1)
    net.reset_parameters(stream(0, "weights").torch())
    assert [name for name, value in net.state_dict().items() if not value.equal(fresh[name])] == []


@pytest.mark.parametrize("in_channels", [0, COLUMNS])
def test_node_vectors_beside_or_instead_of_features(graph: Graph, in_channels: int) -> None:
    net = encoder(in_channels=in_channels, node_embedding=5)
    x = net.input(graph.features if in_channels else None)
    assert x.shape == (NODES, in_channels + 5)
    assert net.embedding is not None
    assert x.dense()[:, in_channels:].equal(net.embedding)
    picked = net.input(
        features(graph).rows(torch.tensor([4])) if in_channels else None, torch.tensor([4])
    )
    assert picked.dense().equal(x.dense()[[4]])


def test_without_features_or_node_vectors_there_is_nothing_to_encode() -> None:
    with pytest.raises(InputError, match=r"no features.*encoder\.node_embedding"):
        Encoder(0, EncoderConfig())


@pytest.mark.parametrize("columns", [None, 19, 21])
def test_features_of_another_width_are_refused(columns: int | None) -> None:
    other = None if columns is None else DenseFeatures(torch.ones(NODES, columns))
    with pytest.raises(InputError, match=f"takes features of 20 columns, .* has {columns or 0}"):
        encoder().input(other)


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(InputError, match=r"encoder\.hidden = 8 .* encoder\.heads = 3"):
        encoder("gat", heads=3)


def test_readout_by_hand() -> None:
    first, last = torch.tensor([[3.0], [0.0]]), torch.tensor([[4.0, 0.0], [0.0, 0.0]])
    assert readout([last], "none").equal(last)
    assert readout([first, last], "none").tolist() == [[3, 4, 0], [0, 0, 0]]
    scaled = readout([first, last], "l2").flatten().tolist()
    assert scaled == pytest.approx([0.6, 0.8, 0, 0, 0, 0])
    assert readout([first, last], "l2_each").tolist() == [[1, 1, 0], [0, 0, 0]]
