"""Compiled loops decode pairs to the same bits as torch's operations do."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from maskgae.base.rng import stream
from maskgae.base.settings import DecoderConfig
from maskgae.nn import products
from maskgae.nn.decoder_kernels import decoder_pass
from maskgae.nn.decoders import pair_decoder
from maskgae.nn.losses import bce, pair_loss
from maskgae.nn.products import CompiledPairs, PlainPairs, pairs_of

pytestmark = pytest.mark.usefixtures("global_rng_untouched")


def drawn(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, some of them zero, targets and negatives, many of which share their ends."""
    generator = stream(0).torch()
    z = torch.randn(40, 64, dtype=dtype, generator=generator)
    z[::9] = 0
    targets, negatives = torch.randint(40, (2, 2, 3000), generator=generator)
    return z.requires_grad_(), targets, negatives


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "config",
    [
        DecoderConfig(kind="dot"),
        DecoderConfig(layers=1),
        DecoderConfig(dropout=0.0),
        DecoderConfig(dropout=0.4),
        DecoderConfig(layers=3, dropout=0.4),
    ],
    ids=lambda config: f"{config.kind}-{config.layers}-{config.dropout}",
)
def test_both_ways_give_the_same_bits(
    config: DecoderConfig, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maskgae.nn.losses.CACHE_NUMBERS", 2**17)
    monkeypatch.setattr("maskgae.kernels.compiled.torch.get_num_threads", lambda: threads)
    z, targets, negatives = drawn()
    decoder = pair_decoder(64, config)
    decoder.reset_parameters(stream(1).torch())
    found = []
    for many in (0, 2**60):
        monkeypatch.setattr(products, "MANY", many)
        loss = pair_loss(z, decoder, targets, negatives, bce, stream(2))
        found.append([loss, *torch.autograd.grad(loss, [z, *decoder.parameters()])])
    for ours, theirs in zip(*found, strict=True):
        assert ours.equal(theirs)


def test_loops_are_taken_where_products_are_many() -> None:
    z, *_ = drawn()
    run = decoder_pass(pair_decoder(64, DecoderConfig()), 10)
    assert isinstance(pairs_of(z, run, 10, products.MANY // 64), CompiledPairs)
    assert isinstance(pairs_of(z, run, 10, products.MANY // 64 - 1), PlainPairs)
    assert isinstance(pairs_of(z.double(), run, 10, products.MANY), PlainPairs)
