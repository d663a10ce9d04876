"""Every convolution equals PyG's with the same weights, on every kind of input."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn

from maskgae.base.rng import isolated_rng, stream
from maskgae.data import DenseFeatures, Features, Graph, as_features
from maskgae.nn import Adjacency
from maskgae.nn.convs import CONVS, Conv

IN, OUT = 24, 6


def graph(weights: bool = False) -> Graph:
    """30 nodes, the last two of them isolated, with sparse features."""
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 28, (2, 80))
    features = rng.normal(size=(30, IN)) * (rng.random((30, IN)) < 0.1)
    return Graph.from_edges(
        edges, 30, features=features, weights=rng.random(80) + 0.1 if weights else None
    )


def conv(kind: str, in_channels: int = IN, out_channels: int = OUT, heads: int = 1) -> Conv:
    made = CONVS[kind](in_channels, out_channels, heads=heads)
    made.reset_parameters(stream(0, "weights").torch())
    for number, parameter in enumerate(made.parameters()):  # so that no bias is zero
        parameter.data.add_(0.1 * (number + 1))
    return made


def theirs(kind: str, heads: int) -> nn.Module:
    return {
        "gcn": lambda: pyg.GCNConv(IN, OUT),
        "sage": lambda: pyg.SAGEConv(IN, OUT),
        "gat": lambda: pyg.GATConv(IN, OUT, heads=heads),
    }[kind]()


# The name of each of our weights in PyG's layer; their matrices are transposed.
NAMES = {
    "gcn": {"lin.weight": "lin.weight", "bias": "bias"},
    "sage": {
        "neighbours.weight": "lin_l.weight",
        "bias": "lin_l.bias",
        "root.weight": "lin_r.weight",
    },
    "gat": {"lin.weight": "lin.weight", "att_src": "att_src", "att_dst": "att_dst", "bias": "bias"},
}


def as_theirs(name: str, value: Tensor) -> Tensor:
    return value.T if name.endswith("weight") else value


def close(ours: Tensor | None, other: Tensor | None) -> None:
    torch.testing.assert_close(ours, other, atol=1e-5, rtol=1e-5)


def dense_features(of: Graph) -> Features:
    assert of.features is not None
    return DenseFeatures(of.features.dense())


CASES = [("gcn", 1), ("sage", 1), ("gat", 1), ("gat", 3)]


@pytest.mark.parametrize(("kind", "heads"), CASES)
@pytest.mark.parametrize("sparse", [False, True])
def test_equals_pyg_with_the_same_weights(kind: str, heads: int, sparse: bool) -> None:
    here = graph()
    ours = conv(kind, heads=heads)
    with isolated_rng(stream(0, "pyg")):
        other = theirs(kind, heads)
    names, their_weights = NAMES[kind], dict(other.named_parameters())
    assert names.keys() == dict(ours.named_parameters()).keys()
    assert set(names.values()) == their_weights.keys()
    for name, value in ours.named_parameters():
        target = their_weights[names[name]]
        target.data.copy_(as_theirs(name, value.data).reshape(target.shape))
    data = here.to_pyg()
    x = here.features if sparse else dense_features(here)
    assert x is not None
    out, expected = ours(x, Adjacency.of(here)), other(data.x, data.edge_index)
    close(out, expected)
    upstream = torch.linspace(-1, 1, out.numel()).view(out.shape)
    (out * upstream).sum().backward()
    (expected * upstream).sum().backward()
    for name, value in ours.named_parameters():
        theirs_grad = their_weights[names[name]].grad
        assert value.grad is not None and theirs_grad is not None
        close(as_theirs(name, value.grad).reshape(theirs_grad.shape), theirs_grad)


def test_weighted_gcn_equals_pyg() -> None:
    here = graph(weights=True)
    assert here.weights is not None
    ours = conv("gcn")
    with isolated_rng(stream(0, "pyg")):
        other = pyg.GCNConv(IN, OUT)
    other.lin.weight.data.copy_(ours.lin.weight.data.T)
    other.bias.data.copy_(ours.bias.data)
    data, weights = here.to_pyg(), here.weights[here.structure.pair_of_entry]
    out = ours(dense_features(here), Adjacency.of(here))
    close(out, other(data.x, data.edge_index, weights))


@pytest.mark.parametrize("kind", CONVS)
def test_a_layer_says_whether_it_uses_weights(kind: str) -> None:
    plain, weighted = (graph(weights) for weights in (False, True))
    layer = conv(kind)
    outs = [layer(dense_features(of), Adjacency.of(of)) for of in (plain, weighted)]
    assert outs[0].equal(outs[1]) != layer.uses_weights


@pytest.mark.parametrize("kind", CONVS)
def test_the_narrower_side_travels_and_the_result_is_the_same(kind: str) -> None:
    narrow = as_features(np.random.default_rng(1).normal(size=(30, 3)))
    layer, adjacency = conv(kind, in_channels=3), Adjacency.of(graph())
    assert narrow.message_width < OUT
    first, weights = layer(narrow, adjacency), list(layer.parameters())
    first_grads = torch.autograd.grad(first.square().sum(), weights)
    narrow.message_width = float("inf")
    second = layer(narrow, adjacency)
    close(second, first)
    for ours, other in zip(
        torch.autograd.grad(second.square().sum(), weights), first_grads, strict=True
    ):
        torch.testing.assert_close(ours, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("kind", "heads"), CASES)
@pytest.mark.parametrize("make", [dense_features, lambda of: of.features])
def test_a_chunk_of_rows_gives_the_first_rows(
    kind: str, heads: int, make: Callable[[Graph], Features]
) -> None:
    here, layer = graph(), conv(kind, heads=heads)
    whole = Adjacency.of(here)
    part = Adjacency(whole.csr.rows(torch.arange(11)), whole.degrees)
    weights = list(layer.parameters())
    ours, expected = layer(make(here), part), layer(make(here), whole)[:11]
    close(ours, expected)
    grads = [torch.autograd.grad(out.square().sum(), weights) for out in (ours, expected)]
    for ours, expected in zip(*grads, strict=True):
        torch.testing.assert_close(ours, expected, atol=1e-4, rtol=1e-5)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("kind", CONVS)
@pytest.mark.usefixtures("two_threads")
def test_gradients_repeat_themselves_on_several_threads(kind: str) -> None:
    rng = np.random.default_rng(0)
    big = Graph.from_edges(rng.integers(0, 2000, (2, 20_000)), 2000)
    layer, adjacency = conv(kind), Adjacency.of(big)
    x = torch.from_numpy(rng.normal(size=(2000, IN)).astype(np.float32)).requires_grad_()

    def gradients() -> list[Tensor]:
        out = layer(DenseFeatures(x), adjacency).square().sum()
        return list(torch.autograd.grad(out, [x, *layer.parameters()]))

    first = gradients()
    for _ in range(3):
        assert all(one.equal(other) for one, other in zip(first, gradients(), strict=True))


@pytest.mark.parametrize("kind", CONVS)
def test_a_graph_of_which_nothing_is_visible(kind: str) -> None:
    here = graph()
    nothing = Adjacency.of(here, torch.zeros(here.num_pairs, dtype=torch.bool))
    out = conv(kind)(dense_features(here), nothing)
    out.sum().backward()
    assert out.shape == (30, OUT) and bool(out.isfinite().all())


def test_attention_survives_large_logits() -> None:
    layer = conv("gat", heads=2)
    out = layer(DenseFeatures(1e4 * torch.ones(30, IN)), Adjacency.of(graph()))
    out.sum().backward()
    assert out.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())


def test_representations() -> None:
    assert repr(conv("gcn")) == "GCNConv(24, 6)"
    assert repr(conv("gat", heads=3)) == "GATConv(24, 6, heads=3)"
