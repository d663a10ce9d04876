"""Layer by layer and rows by rows, the encoder gives what it gives at once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.nn import Adjacency, layerwise
from maskgae.nn import network as model
from maskgae.nn.convs import CONVS
from maskgae.nn.network import MaskGAENet

NODES = 60
NORMS = ("batch", "layer", "none")


def make_graph(sparse: bool, weights: bool = False) -> Graph:
    rng = np.random.default_rng(0)
    # A hub beside nodes of few neighbours, and two on their own.
    edges = np.concatenate(
        [rng.integers(0, NODES - 2, (2, 150)), np.stack([np.zeros(30, int), np.arange(30) + 20])],
        axis=1,
    )
    features = rng.normal(size=(NODES, 10)) * (rng.random((NODES, 10)) < (0.1 if sparse else 1))
    return Graph.from_edges(
        edges, NODES, features=features, weights=rng.random(180) + 0.1 if weights else None
    )


def make_net(graph: Graph, kind: str, **values: Any) -> MaskGAENet:
    small = {"encoder.hidden": 8, "encoder.dim": 14, "encoder.heads": 2, "encoder.kind": kind}
    settings = Settings().updated(small | {k.replace("__", "."): v for k, v in values.items()})
    net = MaskGAENet.for_graph(graph, settings)
    for norm in net.encoder.norms:  # statistics and scales that are not 0 and 1
        for value in norm.state_dict().values():
            if value.is_floating_point():
                value.copy_(torch.rand(value.shape, generator=torch.Generator().manual_seed(0)) + 1)
    return net


def chunked(monkeypatch: pytest.MonkeyPatch, numbers: int = 300, in_memory: int = 2**28) -> None:
    monkeypatch.setattr(model, "AT_ONCE", 0)
    monkeypatch.setattr(layerwise, "SWEEP_NUMBERS", numbers)
    monkeypatch.setattr(layerwise, "IN_MEMORY", in_memory)


@pytest.mark.parametrize("kind", tuple(CONVS))
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("numbers", [1, 300, 10**6])
def test_chunks_give_what_the_whole_gives(
    monkeypatch: pytest.MonkeyPatch, kind: str, sparse: bool, layers: int, numbers: int
) -> None:
    graph = make_graph(sparse)
    net = make_net(graph, kind, encoder__layers=layers, encoder__node_embedding=3 * (layers == 3))
    whole, nodes = net.encode(graph), torch.tensor([0, 3, 41, 59])
    chunked(monkeypatch, numbers)
    for ours, some, expected in zip(
        net.encode(graph), net.encode(graph, nodes), whole, strict=True
    ):
        assert torch.allclose(ours, expected, atol=1e-5)
        assert torch.allclose(some, expected[nodes], atol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", ["gcn", "sage"])
def test_weights_and_norms_go_along(monkeypatch: pytest.MonkeyPatch, norm: str, kind: str) -> None:
    graph = make_graph(sparse=False, weights=True)
    net = make_net(graph, kind, encoder__norm=norm)
    whole = net.encode(graph)[-1]
    chunked(monkeypatch)
    assert torch.allclose(net.encode(graph)[-1], whole, atol=1e-5)


@pytest.mark.parametrize("normalize", ["none", "l2", "l2_each"])
def test_embeddings_and_scores_agree(monkeypatch: pytest.MonkeyPatch, normalize: str) -> None:
    graph = make_graph(sparse=True)
    net = make_net(graph, "gcn", embedding__normalize=normalize, embedding__propagated=2)
    pairs, nodes = torch.tensor([[5, 9, 5], [2, 30, 9]]), torch.tensor([2, 5])
    embedding, scores = net.embed(graph), net.score(graph, pairs)
    chunked(monkeypatch)
    assert torch.allclose(net.embed(graph), embedding, atol=1e-5)
    assert torch.allclose(net.embed(graph, nodes), embedding[nodes], atol=1e-5)
    assert torch.allclose(net.score(graph, pairs), scores, atol=1e-5)


@pytest.mark.parametrize("weights", [False, True])
def test_smoothed_features_are_kipf_and_wellings_product(
    monkeypatch: pytest.MonkeyPatch, weights: bool
) -> None:
    graph = make_graph(sparse=True, weights=weights)
    assert graph.features is not None
    x, adjacency = graph.features.dense(), Adjacency.of(graph)
    expected = adjacency.normalized(adjacency.normalized(x))
    assert layerwise.smoothed(graph, graph.features, 2).equal(expected)
    chunked(monkeypatch)
    assert torch.allclose(layerwise.smoothed(graph, graph.features, 2), expected, atol=1e-5)


def test_large_outputs_lie_in_files_that_vanish(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graph = make_graph(sparse=False)
    net = make_net(graph, "sage")
    whole = net.embed(graph)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    chunked(monkeypatch, in_memory=1)
    assert torch.allclose(net.embed(graph), whole, atol=1e-5)
    assert not list(tmp_path.iterdir())


def test_only_what_is_asked_for_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Graph.from_edges([(i, i + 1) for i in range(29)], features=np.ones((30, 4)))
    net = make_net(path, "gcn")
    chunked(monkeypatch)
    rows = []
    real = layerwise._Blocks.cut
    monkeypatch.setattr(
        layerwise._Blocks, "cut", lambda self, n: (rows.extend(n.tolist()), real(self, n))[1]
    )
    net.encode(path, torch.tensor([10]))
    assert rows == [9, 10, 11, 10]
