"""Contrastive losses against plain loops over their equations, in float64."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from maskgae.base.rng import stream
from maskgae.lab.methods.contrast import Bilinear, Projector, discrimination, info_nce, nt_xent


def rows(number: int) -> Tensor:
    generator = stream(number).torch()
    return torch.randn(6, 3, generator=generator, dtype=torch.float64, requires_grad=True)


def looped(u: Tensor, v: Tensor, tau: float) -> Tensor:
    """Both directions of GRACE's loss, term by term."""

    def one(a: Tensor, b: Tensor, i: int) -> Tensor:
        def weight(x: Tensor, y: Tensor) -> Tensor:
            return (x @ y / (x.norm() * y.norm()) / tau).exp()

        below = sum(weight(a[i], b[k]) for k in range(6))
        below = below + sum(weight(a[i], a[k]) for k in range(6) if k != i)
        return -(weight(a[i], b[i]) / below).log()

    return torch.stack([(one(u, v, i) + one(v, u, i)) / 2 for i in range(6)]).mean()


@pytest.mark.parametrize("tau", [0.2, 0.9])
def test_nt_xent_is_its_equation_with_its_gradient(tau: float) -> None:
    u, v = rows(0), rows(1)
    found, expected = nt_xent(u, v, tau), looped(u, v, tau)
    torch.testing.assert_close(found, expected)
    pairs = zip(*(torch.autograd.grad(loss, (u, v)) for loss in (found, expected)), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other)


def test_blocks_change_nothing() -> None:
    u, v = rows(0), rows(1)
    small, large = (info_nce(u, v, 0.5, size) for size in (24, 10**6))
    torch.testing.assert_close(small, large)
    for one, other in zip(
        torch.autograd.grad(small, (u, v)), torch.autograd.grad(large, (u, v)), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_a_low_temperature_stays_finite() -> None:
    u = rows(0)
    (grad,) = torch.autograd.grad(nt_xent(u, rows(1), 1e-3), u)
    assert torch.isfinite(grad).all()


def test_a_bilinear_logit_is_its_sum() -> None:
    score = Bilinear(3, 3).double()
    score.reset_parameters(stream(0).torch())
    h, s = rows(1), rows(2)
    matrix = score.weight
    expected = [sum(h[i, a] * matrix[a, b] * s[i, b] for a in range(3) for b in range(3))
                for i in range(6)]  # fmt: skip
    torch.testing.assert_close(score(h, s), torch.stack(expected))  # type: ignore[arg-type]
    torch.testing.assert_close(score(h, s[0])[0], score(h, s)[0])


def test_discrimination_is_the_mean_cross_entropy() -> None:
    real, fake = torch.tensor([1.0, -2.0]), torch.tensor([0.5, 3.0])
    terms = [math.log1p(math.exp(-x)) for x in (1.0, -2.0, -0.5, -3.0)]
    terms[2:] = [math.log1p(math.exp(x)) for x in (0.5, 3.0)]
    assert discrimination(real, fake).item() == pytest.approx(sum(terms) / 4)


def test_a_projector_is_drawn_from_its_generator() -> None:
    one, other = Projector(3, 4, 2), Projector(3, 4, 2)
    for each in (one, other):
        each.reset_parameters(stream(0).torch())
    x = torch.ones(5, 3)
    assert one(x).shape == (5, 2)
    assert torch.equal(one(x), other(x))
