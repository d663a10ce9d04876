"""Dropout keeps the mean, its rate and its gradient, and repeats itself."""

import pytest
import torch
from scipy.stats import chisquare

from maskgae.base import dropout as noise
from maskgae.base.dropout import (
    dropout,
    dropped_product,
    keep_threshold,
    kept_positions,
    random_bytes,
)
from maskgae.base.rng import stream

pytestmark = pytest.mark.usefixtures("global_rng_untouched")


def test_bytes_are_uniform() -> None:
    drawn = random_bytes(256_000, stream(0))
    assert chisquare(torch.bincount(drawn.long(), minlength=256).numpy()).pvalue > 1e-4


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1001])
def test_as_many_bytes_as_asked_for_and_the_same_first_ones(count: int) -> None:
    drawn = random_bytes(count, stream(0))
    assert drawn.shape == (count,)
    assert drawn.equal(random_bytes(2000, stream(0))[:count])


@pytest.mark.parametrize(
    ("p", "threshold"), [(0.0, 256), (0.5, 128), (0.8, 51), (0.25, 192), (0.996, 1)]
)
def test_threshold(p: float, threshold: int) -> None:
    assert keep_threshold(p) == threshold
    assert abs(1 - threshold / 256 - p) <= 1 / 512


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_dropout_is_unbiased_at_its_rate(p: float) -> None:
    dropped = dropout(torch.ones(400_000), p, stream(1))
    kept = float((dropped != 0).double().mean())
    assert abs(kept - (1 - p)) < 1 / 512 + 4 * (p * (1 - p) / 400_000) ** 0.5
    assert float(dropped.double().mean()) == pytest.approx(1, abs=0.01)


def test_positions_and_scale_are_what_dropout_uses() -> None:
    x = torch.arange(1.0, 25.0).view(4, 6)
    keep, scale = kept_positions(24, 0.5, stream(2))
    assert scale == 2
    assert dropout(x, 0.5, stream(2)).equal(x * keep.view(4, 6) * 2)


def test_gradient_passes_where_the_entry_was_kept() -> None:
    x = torch.full((50, 4), 3.0, dtype=torch.float64, requires_grad=True)
    out = dropout(x, 0.5, stream(0))
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.equal(out.detach() / 3)


def test_no_dropout_is_the_same_tensor() -> None:
    x = torch.ones(3)
    assert dropout(x, 0.0, stream(0)) is x
    assert dropout(x, 0.001, stream(0)).equal(x)  # below the finest rate


def test_same_stream_same_noise_other_stream_other_noise() -> None:
    x = torch.ones(100, 10)
    assert dropout(x, 0.5, stream(0, 1)).equal(dropout(x, 0.5, stream(0, 1)))
    assert not dropout(x, 0.5, stream(0, 1)).equal(dropout(x, 0.5, stream(0, 2)))


@pytest.mark.parametrize("rows", [0, 1, 4, 13])
def test_product_by_blocks_is_the_product_of_what_dropout_leaves(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "BLOCK", 25)  # three rows of eight
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, 8, generator=generator, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(8, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    keep, scale = kept_positions(x.numel(), 0.4, stream(0))
    ours = dropped_product(x, keep.view(x.shape), scale, weight)
    whole = dropout(x, 0.4, stream(0)) @ weight
    torch.testing.assert_close(ours, whole)
    grad = torch.randn(rows, 5, generator=generator, dtype=torch.float64)
    for one, other in zip(
        torch.autograd.grad(ours, (x, weight), grad),
        torch.autograd.grad(whole, (x, weight), grad),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_product_by_blocks_asks_for_no_gradient_of_constants() -> None:
    weight = torch.ones(3, 2, requires_grad=True)
    dropped_product(
        torch.ones(4, 3), torch.ones(4, 3, dtype=torch.bool), 1.0, weight
    ).sum().backward()
    assert weight.grad is not None and weight.grad.equal(torch.full((3, 2), 4.0))
