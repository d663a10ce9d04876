"""SEAL's network against its equations written out; subgraphs have tests of their own."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.data.features import DenseFeatures
from maskgae.lab.cell import make_cell
from maskgae.lab.methods.enclosing import enclosing_subgraphs
from maskgae.lab.methods.seal import DGCNN, SEAL, SEALConfig, batch_of, pooled_nodes
from maskgae.nn.convs import GCNConv

X = torch.rand(6, 4, generator=stream(1).torch())
EDGES = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]
GRAPH = Graph.from_edges(EDGES, 6, features=X)
SMALL = SEALConfig(hidden=3, batch=4, epochs=60, dropout=0.0)


def node_vectors(
    net: DGCNN, nodes: list[int], labels: list[int], edges: list[set[int]]
) -> list[Tensor]:
    """All layers of one subgraph, one node and one neighbour at a time."""
    rows = [torch.cat([net.table[f], X[v].double()]) for v, f in zip(nodes, labels, strict=True)]
    around = [[j for j, v in enumerate(nodes) if u == v or {u, v} in edges] for u in nodes]
    layers = []
    for conv in net.convs:
        assert isinstance(conv, GCNConv) and conv.bias is not None
        sent = [row @ conv.lin.weight for row in rows]
        rows = []
        for found in around:
            mixed = [sent[j] / math.sqrt(len(found) * len(around[j])) for j in found]
            rows.append((torch.stack(mixed).sum(0) + conv.bias).tanh())
        layers.append(rows)
    return [torch.cat(parts) for parts in zip(*layers, strict=True)]


def logit(net: DGCNN, rows: list[Tensor]) -> Tensor:
    """Sort pooling, convolutions as torch has them, and dense layers, for one subgraph."""
    rows = sorted(rows, key=lambda row: -row[-1].item())[: net.k]
    rows += [torch.zeros_like(rows[0])] * (net.k - len(rows))
    flat, width = torch.cat(rows).view(1, 1, -1), rows[0].numel()
    h = F.conv1d(flat, net.first.weight.T.unsqueeze(1), net.first.bias, stride=width).relu()
    h = F.max_pool1d(h, 2)
    h = F.conv1d(h, net.second.weight.T.reshape(32, 16, 5), net.second.bias).relu()
    # Windows come before channels in the flat order.
    h = h.transpose(1, 2).reshape(1, -1)
    return net.last(net.third(h).relu()).view(())


@pytest.mark.usefixtures("double_precision")
def test_the_loss_is_the_equation() -> None:
    net = DGCNN(4, 10, SMALL)
    net.reset_parameters(stream(0).torch())
    pairs, truth = torch.tensor([[0, 3], [1, 5]]), torch.tensor([1.0, 0.0])
    found = enclosing_subgraphs(GRAPH, pairs, hops=1)
    logits = net(DenseFeatures(X.double()), found)
    loss = F.binary_cross_entropy_with_logits(logits, truth)

    first = node_vectors(net, [0, 1, 2], [1, 1, 2], [{1, 2}, {0, 2}])
    # Node 5 is isolated: what hangs on node 3 cannot be reached from it.
    second = node_vectors(net, [2, 3, 4, 5], [0, 1, 0, 1], [{2, 3}, {3, 4}])
    expected = -logit(net, first).sigmoid().log() / 2
    expected = expected - (1 - logit(net, second).sigmoid()).log() / 2
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)


def test_pooling_keeps_six_subgraphs_of_ten_whole_and_at_least_ten_nodes() -> None:
    assert pooled_nodes(enclosing_subgraphs(GRAPH, GRAPH.pairs, hops=2)) == 10
    stars = [(hub, leaf) for hub in range(2) for leaf in range(10 + 20 * hub, 30 + 20 * hub)]
    found = enclosing_subgraphs(Graph.from_edges(stars), torch.tensor([[0, 1, 2], [3, 4, 5]]), 1)
    assert found.sizes.tolist() == [22, 22, 2] and pooled_nodes(found) == 22


def test_batches_go_through_all_examples_and_then_again_in_another_order() -> None:
    first, again = (
        torch.cat([batch_of(10, turn * 4 + step, 3, stream(0)) for step in range(4)])
        for turn in range(2)
    )
    assert sorted(first.tolist()) == sorted(again.tolist()) == list(range(10))
    assert not torch.equal(first, again)


@pytest.mark.parametrize("features", [X, None])
def test_a_few_steps_lower_the_loss_with_features_and_without(features: Tensor | None) -> None:
    graph, losses = Graph.from_edges(EDGES, 6, features=features), []
    fitted = SEAL(replace(SMALL, lr=0.01)).fit(
        graph, None, stream(0), lambda row: losses.append(row["loss"])
    )
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])
    pairs = torch.tensor([[0, 2], [4, 1]])
    scores = fitted.score(graph, pairs)
    assert torch.equal(scores, fitted.score(graph, pairs.flip(0)))
    # The edge that is asked for is never looked at.
    rest = Graph.from_edges([e for e in EDGES if e != (1, 2)], 6, features=features)
    assert torch.equal(scores[1], fitted.score(rest, pairs)[1])


def test_the_node_task_is_refused() -> None:
    with pytest.raises(InputError, match="seal scores pairs and embeds no nodes"):
        make_cell("node", "Cora", method="seal")
