"""MGAE's loss against its equation written out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.data.features import DenseFeatures
from maskgae.lab.methods.layers import View
from maskgae.lab.methods.mgae import MGAE, MGAEConfig, MGAENet
from maskgae.nn.adjacency import Adjacency

X = torch.rand(6, 4, generator=stream(1).torch())
GRAPH = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)], 6, features=X)
SMALL = MGAEConfig(hidden=16, decoder_hidden=16)


def layer_outputs(net: MGAENet, edges: list[tuple[int, int]]) -> list[list[Tensor]]:
    """What each layer gives each node, one node and one neighbour at a time."""
    around = [[i] + [v + u - i for u, v in edges if i in (u, v)] for i in range(6)]
    rows, found = list(X.double()), []
    for layer in net.encoder.layers:
        weight, bias = dict(layer.named_parameters())["lin.weight"], layer.bias
        assert isinstance(bias, Tensor)
        following = []
        for i in range(6):
            total = bias.clone()
            for j in around[i]:
                total = total + rows[j] @ weight / math.sqrt(len(around[i]) * len(around[j]))
            following.append(total.relu())
        rows = following
        found.append(rows)
    return found


def logit(net: MGAENet, outputs: list[list[Tensor]], u: int, v: int) -> Tensor:
    x = torch.cat([a[u] * b[v] for a in outputs for b in outputs])
    (w1, b1), (w2, b2) = ([*layer.parameters()] for layer in net.decoder.layers)
    return ((x @ w1 + b1).relu() @ w2 + b2)[0]


@pytest.fixture
def net() -> MGAENet:
    return MGAENet(4, SMALL, stream(0)).double()


@pytest.mark.usefixtures("double_precision")
def test_the_loss_is_the_equation(net: MGAENet) -> None:
    masked, negatives = [(0, 1), (3, 4)], [(0, 4), (5, 1)]
    visible = torch.tensor([(u, v) not in masked for u, v in GRAPH.pairs.T.tolist()])
    view = View(DenseFeatures(X.double()), Adjacency.of(GRAPH, visible))
    found = net.loss(view, torch.tensor(masked).T, torch.tensor(negatives).T)

    outputs = layer_outputs(net, [(1, 2), (0, 2), (2, 3)])
    expected = -sum(logit(net, outputs, u, v).sigmoid().log() for u, v in masked) / 2
    expected -= sum((1 - logit(net, outputs, u, v).sigmoid()).log() for u, v in negatives) / 2
    torch.testing.assert_close(found, torch.as_tensor(expected), rtol=1e-12, atol=0)


@pytest.mark.usefixtures("double_precision")
def test_a_score_is_the_mean_of_both_directions(net: MGAENet) -> None:
    view = View(DenseFeatures(X.double()), Adjacency.of(GRAPH))
    outputs = layer_outputs(net, [tuple(pair) for pair in GRAPH.pairs.T.tolist()])
    there, back = logit(net, outputs, 0, 3), logit(net, outputs, 3, 0)
    assert there != back
    found = net.on(view).pairs(torch.tensor([[0], [3]]))
    torch.testing.assert_close(found, ((there + back) / 2).reshape(1))


def test_rows_are_the_scores_of_all_their_pairs(net: MGAENet) -> None:
    scores, nodes = net.float().on(View.of(GRAPH, "cpu")), torch.tensor([4, 0])
    pairs = torch.cartesian_prod(nodes, torch.arange(6)).T
    torch.testing.assert_close(scores.rows(nodes), scores.pairs(pairs).view(2, 6))


def test_the_share_of_masked_edges_is_as_asked_and_batches_are_masked() -> None:
    visible, masked = MGAE(replace(SMALL, ratio=0.6, batch=2))._mask(GRAPH, stream(0))
    assert visible.sum() == 2 and masked.shape == (2, 2)
    assert not visible[torch.searchsorted(GRAPH.keys, masked[0] * 6 + masked[1])].any()


def test_a_few_steps_lower_the_loss() -> None:
    losses: list[float] = []
    config = replace(SMALL, dropout=0.0, ratio=0.5, epochs=60)
    MGAE(config).fit(GRAPH, None, stream(0), lambda row: losses.append(row["loss"]))
    assert sum(losses[-10:]) < 0.9 * sum(losses[:10])
