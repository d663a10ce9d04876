"""DGI's loss is its equation."""

from __future__ import annotations

import torch
from torch import Tensor

from lab.methods.six_nodes import adjacency, double, drawn, falls, log1pexp, normalized
from maskgae.base.rng import stream
from maskgae.lab.methods.dgi import DGI, DGIConfig


def looped(net: DGI, x: Tensor, order: list[int]) -> Tensor:
    a, w, b, slope = normalized(adjacency()), net.conv.lin.weight, net.conv.bias, 0.25

    def encoded(rows: list[int], i: int) -> Tensor:
        h = sum(a[i, j] * (x[rows[j]] @ w) for j in range(6)) + b
        return torch.where(h > 0, h, slope * h)

    real = [encoded(list(range(6)), i) for i in range(6)]
    fake = [encoded(order, i) for i in range(6)]
    s = 1 / (1 + (-torch.stack(real).mean(0)).exp())
    total = torch.zeros(())
    for good, bad in zip(real, fake, strict=True):
        total += log1pexp(-(good @ net.score.weight @ s + net.score.bias))
        total += log1pexp(bad @ net.score.weight @ s + net.score.bias)
    return total / 12


def test_the_loss_is_its_equation_and_falls() -> None:
    with double() as view:
        net = drawn(DGI(4, DGIConfig(dim=3)))
        order = torch.randperm(6, generator=stream(1).torch()).tolist()
        torch.testing.assert_close(net.loss(view, stream(1)), looped(net, view.x.dense(), order))
        assert falls(net, view)
