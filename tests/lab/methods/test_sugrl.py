"""SUGRL's loss against its equation written out, and its cycle through neighbours by hand."""

from __future__ import annotations

import math

import pytest
import torch

from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.lab.methods.sugrl import ENTRY, NeighbourCycle, SUGRLConfig, sugrl_loss
from maskgae.nn.adjacency import Adjacency

X = torch.rand(6, 4, generator=stream(1).torch())
GRAPH = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)], 6, features=X)


def test_the_loss_is_the_equation() -> None:
    generator = stream(0).torch()
    h, s, n = torch.randn(3, 6, 4, dtype=torch.float64, generator=generator)
    orders = [torch.tensor([1, 2, 0, 3, 5, 4]), torch.tensor([5, 4, 3, 2, 1, 0])]
    config = SUGRLConfig(structure=3, neighbours=5, upper=2, margin=0.4, bound=0.3)
    expected = 0.0
    for order in orders:
        for i in range(6):
            far = math.dist(h[i], h[order[i]])
            near = math.dist(h[i], s[i])
            expected += 3 * max(0, near - far + 0.4) / 6
            expected += 5 * max(0, math.dist(h[i], n[i]) - far + 0.4) / 6
            expected += 2 * max(0, far - near - 0.7) / 2
    found = sugrl_loss(h, s, n, orders, config)
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_a_row_left_in_place_keeps_the_gradient_finite() -> None:
    h = torch.ones(6, 4, dtype=torch.float64, requires_grad=True)
    sugrl_loss(h, h * 1, h * 1, [torch.arange(6)], SUGRLConfig()).backward()
    assert h.grad is not None and torch.isfinite(h.grad).all()


def test_neighbours_are_taken_in_turn_and_the_node_is_one_of_them() -> None:
    mean = NeighbourCycle(Adjacency.of(GRAPH)).at(101).sum(torch.eye(6))
    # Epoch 101 is epoch 1 again: entries 2, 4, 6, 8, 10 of each list, modulo its length.
    assert mean[0].tolist() == pytest.approx([0.2, 0.4, 0.4, 0, 0, 0])  # 2, 1, 0, 2, 1 of 0, 1, 2
    assert mean[2].tolist() == pytest.approx([0.4, 0, 0.6, 0, 0, 0])  # 2, 0, 2, 0, 2 of 0, 1, 2, 3
    assert mean[5].tolist() == pytest.approx([0, 0, 0, 0, 0, 1])


def test_a_few_steps_lower_the_loss() -> None:
    losses: list[float] = []
    config = SUGRLConfig(hidden=8, dim=4, epochs=40, dropout=0.0)
    ENTRY.make(config, "cpu").fit(GRAPH, None, stream(0), lambda row: losses.append(row["loss"]))
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])
