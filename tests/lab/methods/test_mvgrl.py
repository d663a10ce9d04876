"""MVGRL's loss is its equation, and its diffusion the inverse that it stands for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from lab.methods.six_nodes import adjacency, double, drawn, falls, log1pexp, normalized
from maskgae.base.rng import stream
from maskgae.lab.methods import mvgrl
from maskgae.lab.methods.mvgrl import MVGRL, CutWalks, Diffused, MVGRLConfig, TwoViews, diffused
from maskgae.nn.convs import GCNConv


def pagerank(alpha: float = 0.2) -> Tensor:
    return alpha * torch.linalg.inv(torch.eye(6) - (1 - alpha) * normalized(adjacency()))


def test_a_product_with_the_diffusion_is_one_with_the_inverse() -> None:
    with double() as view:
        expected = pagerank()
        assert torch.allclose(expected.sum(), torch.as_tensor(6.0), rtol=0.2)
        for terms, error in ((10, 2 * 0.5**10), (60, 1e-12)):
            found = diffused(torch.eye(6), view.adjacency, 0.2, terms)
            assert torch.linalg.matrix_norm(found - expected, 2) < error


def cut(least: float) -> Tensor:
    """The personalised PageRank as the published code of CiteSeer has it, entry by entry."""
    walks = pagerank()
    for i in range(6):
        for j in range(6):
            walks[i, j] = walks[i, j] if walks[i, j] >= least else 0
    for j in range(6):
        walks[:, j] = (walks[:, j] - walks[:, j].min()) / (walks[:, j].max() - walks[:, j].min())
    return walks


def test_columns_diffused_in_parts_are_those_diffused_at_once(monkeypatch: Any) -> None:
    with double() as view:
        x = torch.rand(6, 7, generator=stream(0).torch())
        whole = diffused(x, view.adjacency, 0.2, 10)
        monkeypatch.setattr(mvgrl, "COLUMNS", 3)
        assert torch.equal(diffused(x, view.adjacency, 0.2, 10), whole)


def test_a_compiled_step_is_the_plain_one(monkeypatch: Any) -> None:
    from maskgae.data.graph import Graph
    from maskgae.nn.adjacency import Adjacency

    ring = Adjacency.of(Graph.from_edges([(i, (i + 1) % 9) for i in range(9)] + [(0, 4)]))
    x = torch.randn(9, 5, generator=stream(0).torch())
    plain = diffused(x, ring, 0.2, 10)
    monkeypatch.setattr(mvgrl, "is_large", lambda *_: True)
    compiled = diffused(x, ring, 0.2, 10)
    torch.testing.assert_close(compiled, plain)


def test_cut_walks_keep_large_entries_and_scale_columns(monkeypatch: Any) -> None:
    monkeypatch.setattr(mvgrl, "COLUMNS", 4)
    with double() as view:
        found = CutWalks(view.adjacency, 0.2, 0.05).normalized(torch.eye(6))
        torch.testing.assert_close(found, cut(0.05))
        assert (found == 0).sum() > (pagerank() == 0).sum()


@pytest.mark.parametrize("least", [0.0, 0.05])
def test_its_gradient_is_that_of_the_product(least: float) -> None:
    with double() as view:
        walks = TwoViews.of_view(view, MVGRLConfig(terms=8, least=least)).walks
        assert isinstance(walks, CutWalks if least else Diffused)
        x = torch.rand(6, 3, generator=stream(0).torch()).requires_grad_()
        assert torch.autograd.gradcheck(walks.normalized, (x,))


def looped(net: MVGRL, x: Tensor, far: Tensor, order: list[int]) -> Tensor:
    near = normalized(adjacency())

    def encoded(a: Tensor, conv: GCNConv, rows: list[int], i: int) -> Tensor:
        h = sum(a[i, j] * (x[rows[j]] @ conv.lin.weight) for j in range(6)) + conv.bias
        return torch.where(h > 0, h, 0.25 * h)

    same = list(range(6))
    h_a, f_a = ([encoded(near, net.near, rows, i) for i in same] for rows in (same, order))
    h_b, f_b = ([encoded(far, net.far, rows, i) for i in same] for rows in (same, order))
    s_a, s_b = (1 / (1 + (-torch.stack(h).mean(0)).exp()) for h in (h_a, h_b))

    def score(h: Tensor, s: Tensor) -> Tensor:
        return h @ net.score.weight @ s + net.score.bias

    total = torch.zeros(())
    for i in range(6):
        total += log1pexp(-score(h_b[i], s_a)) + log1pexp(-score(h_a[i], s_b))
        total += log1pexp(score(f_b[i], s_a)) + log1pexp(score(f_a[i], s_b))
    return total / 24


@pytest.mark.parametrize("least", [0.0, 0.05])
def test_the_loss_is_its_equation_and_falls(least: float) -> None:
    with double() as view:
        config = MVGRLConfig(dim=3, terms=60, least=least)
        net, both = drawn(MVGRL(4, config)), TwoViews.of_view(view, config)
        order = torch.randperm(6, generator=stream(1).torch()).tolist()
        expected = looped(net, view.x.dense(), cut(least) if least else pagerank(), order)
        torch.testing.assert_close(net.loss(both, stream(1)), expected)
        assert falls(net, both)
