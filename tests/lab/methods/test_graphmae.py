"""GraphMAE's loss against its equations written out, node by node."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.data.features import DenseFeatures
from maskgae.lab.methods.graphmae import ENTRY, GraphMAE, GraphMAEConfig, Mask
from maskgae.lab.methods.layers import View
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.convs import GATConv

X = torch.rand(6, 4, generator=stream(1).torch())
EDGES = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]
GRAPH = Graph.from_edges(EDGES, 6, features=X)
SMALL = GraphMAEConfig(dim=8, heads=2, epochs=60)


def attention(conv: nn.Module, rows: list[Tensor]) -> list[Tensor]:
    """One layer, one node and one head at a time."""
    assert isinstance(conv, GATConv) and conv.bias is not None
    around = [[i] + [u + v - i for u, v in EDGES if i in (u, v)] for i in range(6)]
    found = []
    for i in range(6):
        heads = []
        for h in range(conv.heads):
            part = slice(h * conv.out_channels, (h + 1) * conv.out_channels)
            sent = [row @ conv.lin.weight[:, part] for row in rows]
            logits = [
                nn.functional.leaky_relu(conv.att_dst[h] @ sent[i] + conv.att_src[h] @ sent[j], 0.2)
                for j in around[i]
            ]
            total = sum(math.exp(logit) for logit in logits)
            weights = [math.exp(logit) / total for logit in logits]
            mixed = [w * sent[j] for w, j in zip(weights, around[i], strict=True)]
            heads.append(torch.stack(mixed).sum(0))
        found.append(torch.cat(heads) + conv.bias)
    return found


@pytest.mark.usefixtures("double_precision")
def test_the_loss_is_the_equation() -> None:
    view = View(DenseFeatures(X.double()), Adjacency.of(GRAPH))
    net = GraphMAE(view, SMALL)
    net.reset_parameters(stream(0).torch())
    nn.init.constant_(net.token, 0.3)
    nn.init.constant_(net.decoder.bias, 0.1)  # node 4 sees masked nodes only
    mask = Mask(
        nodes=torch.tensor([1, 3, 4]),
        source=torch.tensor([0, 1, 2, 0, 4, 5]),
        learnt=torch.tensor([1, 4]),
    )
    with torch.no_grad():
        x = list(X.double())
        # Nodes 1 and 4 have the learnt vector, node 3 the features of node 0.
        rows = [x[0], net.token[0], x[2], x[0], net.token[0], x[5]]
        for conv, activation in zip(net.convs, net.activations, strict=True):
            rows = [activation(row) for row in attention(conv, rows)]
        rows = [row @ net.bridge.weight * (i not in (1, 3, 4)) for i, row in enumerate(rows)]
        rebuilt = attention(net.decoder, rows)
        expected = 0.0
        for i in (1, 3, 4):
            cosine = x[i] @ rebuilt[i] / (x[i].norm() * rebuilt[i].norm())
            expected += (1 - cosine.item()) ** 3 / 3
    assert net.masked_loss(view, mask, None).item() == pytest.approx(expected, rel=1e-10)


def test_the_mask_has_its_shares() -> None:
    mask = Mask.drawn(100, GraphMAEConfig(mask=0.5, replace=0.1), stream(0))
    assert mask.nodes.unique().numel() == 50
    assert mask.learnt.unique().numel() == 45 and mask.nodes[5:].equal(mask.learnt)
    assert (mask.source != torch.arange(100)).sum() in (4, 5)  # one may be drawn for itself
    assert mask.source[mask.learnt].equal(mask.learnt)


def test_every_parameter_learns_and_a_few_steps_lower_the_loss() -> None:
    view = View.normalized(GRAPH, "cpu")
    net = GraphMAE(view, SMALL)
    net.reset_parameters(stream(0).torch())
    net.loss(view, stream(0)).backward()
    still = [name for name, each in net.named_parameters() if not each.grad.any()]  # type: ignore
    # A masked node's own code is zero in the decoder, and only masked nodes are rebuilt.
    assert still == ["decoder.att_dst"]
    losses: list[float] = []
    ENTRY.make(SMALL, "cpu").fit(GRAPH, None, stream(0), lambda row: losses.append(row["loss"]))
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(InputError, match=r"must divide graphmae\.dim = 8, not 3: set both"):
        GraphMAE(View.normalized(GRAPH, "cpu"), GraphMAEConfig(dim=8, heads=3))
