"""GRACE's and GCA's losses and chances are their equations."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from lab.methods.six_nodes import EDGES, adjacency, double, drawn, falls, normalized
from lab.methods.test_contrast import looped as contrasted
from maskgae.base.rng import stream
from maskgae.lab.methods.gca import GCA, GCAConfig, column_weights, edge_weights
from maskgae.lab.methods.grace import Grace, GraceConfig
from maskgae.lab.methods.layers import View


def projected(net: Grace, x: Tensor, a: Tensor) -> Tensor:
    """What one view gives, from its matrices."""

    def relu(rows: Tensor) -> Tensor:
        return torch.where(rows > 0, rows, torch.zeros(()))

    looped = normalized(a)
    assert net.first.bias is not None and net.second.bias is not None
    h = relu(looped @ x @ net.first.lin.weight + net.first.bias)
    h = relu(looped @ h @ net.second.lin.weight + net.second.bias)
    one, two = net.projector.first, net.projector.second
    assert one.bias is not None and two.bias is not None
    hidden = h @ one.weight + one.bias
    return torch.where(hidden > 0, hidden, hidden.exp() - 1) @ two.weight + two.bias


def check_loss(net: Grace, view: View) -> None:
    views = [net.augmented(view, number, stream(1)) for number in range(2)]
    u, v = (
        projected(net, each.x.dense(), each.adjacency.sum(torch.eye(6, dtype=torch.float64)))
        for each in views
    )
    torch.testing.assert_close(net.loss(view, stream(1)), contrasted(u, v, net.tau))
    assert falls(net, view)


def test_the_loss_of_grace_is_its_equation_and_falls() -> None:
    with double() as view:
        check_loss(drawn(Grace(4, GraceConfig(dim=3, projection=2))), view)


def test_the_loss_of_gca_is_that_of_its_views_and_falls() -> None:
    with double() as view:
        check_loss(drawn(GCA(view, GCAConfig(dim=3, projection=2))), view)


def test_a_sample_of_all_nodes_is_all_nodes() -> None:
    with double() as view:
        losses = []
        for sample in (0, 6, 3):
            net = drawn(Grace(4, GraceConfig(dim=3, projection=2, sample=sample)))
            losses.append(net.loss(view, stream(1)).item())
        assert losses[0] == losses[1] != losses[2]


def test_edges_towards_hubs_are_dropped_less() -> None:
    with double() as view:
        degree = adjacency().sum(1)
        towards = sorted(EDGES + [(v, u) for u, v in EDGES])
        score = [math.log(degree[i].item() + 1) for i, _ in towards]
        top, mean = max(score), sum(score) / len(score)
        expected = [(top - each) / (top - mean) for each in score]
        assert edge_weights(view).tolist() == pytest.approx(expected)


def test_columns_of_hubs_are_masked_less() -> None:
    with double() as view:
        x = view.x.dense().clone()
        x[:3, 0] = 0  # what no hub has
        x[:, 1] = 0  # what nobody has
        view = View(type(view.x)(x), view.adjacency)  # type: ignore[call-arg]
        degree = adjacency().sum(1)
        used = [sum(degree[u].item() for u in range(6) if x[u, f] != 0) for f in range(4)]
        score = [math.log(1 + each) for each in used]
        top, mean = max(score), sum(score) / 4
        expected = [(top - each) / (top - mean) for each in score]
        assert column_weights(view).tolist() == pytest.approx(expected)
        net = GCA(view, GCAConfig(dim=3, columns_1=0.9))
        assert isinstance(net.chances[0][1], Tensor)
        assert net.chances[0][1].max().item() == 0.7


def test_where_all_are_alike_all_have_the_same_chance() -> None:
    with double() as view:
        assert column_weights(view).tolist() == [1.0] * 4  # no feature is zero


def test_a_sample_has_the_embedding_and_gradient_of_its_place_in_the_whole() -> None:
    with double() as view:
        nodes = torch.tensor([4, 1])
        seen = drawn(net := Grace(4, GraceConfig(dim=3))).augmented(view, 1, stream(1))
        both = net._some(seen, nodes), net.encode(seen).index_select(0, nodes)
        torch.testing.assert_close(*both)
        weights = list(net.first.parameters())
        some, whole = (torch.autograd.grad(h.square().sum(), weights) for h in both)
        torch.testing.assert_close(some, whole)
