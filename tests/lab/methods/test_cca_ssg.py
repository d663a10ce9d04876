"""CCA-SSG's loss against its equation written out."""

from __future__ import annotations

import statistics

import pytest
import torch

from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.lab.methods.cca_ssg import ENTRY, CCASSGConfig, cca_loss

X = torch.rand(6, 4, generator=stream(1).torch())
GRAPH = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)], 6, features=X)


def standard(column: list[float]) -> list[float]:
    mean, deviation = statistics.fmean(column), statistics.stdev(column)
    return [(value - mean) / deviation for value in column]


def test_the_loss_is_the_equation() -> None:
    views = torch.randn(2, 6, 3, dtype=torch.float64, generator=stream(0).torch())
    z1, z2 = ([standard(column) for column in view.T.tolist()] for view in views)

    def correlation(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True)) / 6

    expected = -sum(correlation(z1[i], z2[i]) for i in range(3))
    for z in (z1, z2):
        for i in range(3):
            for j in range(3):
                expected += 0.2 * ((i == j) - correlation(z[i], z[j])) ** 2
    assert cca_loss(*views, 0.2).item() == pytest.approx(expected, rel=1e-12)


def test_a_constant_column_has_a_finite_loss_and_gradient() -> None:
    h = torch.ones(6, 2, dtype=torch.float64, requires_grad=True)
    cca_loss(h, h * 2, 1e-3).backward()
    assert h.grad is not None and torch.isfinite(h.grad).all()


def test_a_few_steps_lower_the_loss() -> None:
    losses: list[float] = []
    config = CCASSGConfig(dim=4, epochs=40, lr=0.01, drop_edges=0.2, mask_columns=0.2)
    ENTRY.make(config, "cpu").fit(GRAPH, None, stream(0), lambda row: losses.append(row["loss"]))
    assert sum(losses[-10:]) < sum(losses[:10]) - 1


def test_rows_stay_as_they_are_where_that_is_asked_for() -> None:
    raw, scaled = (
        ENTRY.make(CCASSGConfig(dim=4, epochs=1, rows=rows), "cpu").fit(GRAPH, None, stream(0))
        for rows in ("raw", "sum")
    )
    assert not torch.allclose(raw.embed(GRAPH), scaled.embed(GRAPH))  # type: ignore[attr-defined]
