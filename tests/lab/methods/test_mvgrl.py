"""MVGRL's loss is its equation, and its diffusion the inverse that it stands for."""

from __future__ import annotations

import torch
from torch import Tensor

from lab.methods.six_nodes import adjacency, double, drawn, falls, log1pexp, normalized
from maskgae.base.rng import stream
from maskgae.lab.methods.mvgrl import MVGRL, Diffused, MVGRLConfig, diffused
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


def test_its_gradient_is_the_same_product() -> None:
    with double() as view:
        walks = Diffused(view.adjacency, 0.2, 8)
        x = torch.rand(6, 3, generator=stream(0).torch()).requires_grad_()
        assert torch.autograd.gradcheck(walks.normalized, (x,))


def looped(net: MVGRL, x: Tensor, order: list[int]) -> Tensor:
    near, far = normalized(adjacency()), pagerank()

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


def test_the_loss_is_its_equation_and_falls() -> None:
    with double() as view:
        net = drawn(MVGRL(4, MVGRLConfig(dim=3, terms=60)))
        order = torch.randperm(6, generator=stream(1).torch()).tolist()
        torch.testing.assert_close(net.loss(view, stream(1)), looped(net, view.x.dense(), order))
        assert falls(net, view)
