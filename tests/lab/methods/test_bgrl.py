"""BGRL's loss and its moving average against their equations written out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.lab.methods.bgrl import BGRL, ENTRY, BGRLConfig, bootstrap_loss, follow
from maskgae.lab.methods.layers import View

X = torch.rand(6, 4, generator=stream(1).torch())
GRAPH = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)], 6, features=X)
SMALL = BGRLConfig(hidden=8, dim=4, predictor=8, epochs=100)


def made(config: BGRLConfig = SMALL) -> BGRL:
    net = BGRL(View.normalized(GRAPH, "cpu"), config)
    net.reset_parameters(stream(0).torch())
    return net


def test_the_loss_is_the_equation() -> None:
    p1, p2, t1, t2 = torch.randn(4, 6, 3, dtype=torch.float64, generator=stream(0).torch())
    expected = 2.0
    for i in range(6):
        for p, t in ((p1, t2), (p2, t1)):
            product = sum(a * b for a, b in zip(p[i].tolist(), t[i].tolist(), strict=True))
            expected -= product / (math.hypot(*p[i].tolist()) * math.hypot(*t[i].tolist())) / 6
    assert bootstrap_loss((p1, p2), (t1, t2)).item() == pytest.approx(expected, rel=1e-12)


def test_the_target_follows_the_parameters_and_keeps_its_statistics() -> None:
    target, online = (nn.BatchNorm1d(2) for _ in range(2))
    nn.init.constant_(target.weight, 2.0)
    online.running_mean.fill_(5)  # type: ignore[union-attr]
    follow(target, online, 0.75)
    assert target.weight.tolist() == [1.75, 1.75]
    assert target.running_mean.tolist() == [0, 0]  # type: ignore[union-attr]


def test_the_target_starts_apart_slows_down_and_gets_no_gradient() -> None:
    net = made()
    assert not torch.equal(net.online.convs[0].lin.weight, net.target.convs[0].lin.weight)
    assert [net.decay(t) for t in (0, 50, 100)] == pytest.approx([0.99, 0.995, 1])
    net.loss(View.normalized(GRAPH, "cpu"), stream(0)).backward()
    assert all(each.grad is None for each in net.target.parameters())
    assert all(each.grad is not None for each in net.online.parameters())


def test_the_rate_rises_for_a_tenth_and_falls_to_zero() -> None:
    assert [made().rate(t) for t in (0, 5, 10, 55, 100)] == pytest.approx([0, 0.5, 1, 0.5, 0])


def test_a_few_steps_lower_the_loss() -> None:
    losses: list[float] = []
    config = replace(SMALL, lr=0.01)
    ENTRY.make(config, "cpu").fit(GRAPH, None, stream(0), lambda row: losses.append(row["loss"]))
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])
