"""Streams have addresses, hashes look uniform, and global state stays as it was."""

import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from maskgae.base.rng import Stream, hash_below, hash_uniform, isolated_rng, stream

TOP = 2**53


def test_the_address_is_all_that_matters() -> None:
    assert stream(0, "mask", 3).key == stream(0).at("mask").at(3).key
    assert stream(0, "mask", 3).key == 4244230323792465521  # for ever: records name seeds


@pytest.mark.parametrize(
    "other",
    [stream(1, "mask", 3), stream(0, "mask", 4), stream(0, "walk", 3), stream(0, "mask", 3, 0)],
)
def test_another_address_is_another_key(other: Stream) -> None:
    assert other.key != stream(0, "mask", 3).key


def test_a_word_is_not_the_number_it_spells() -> None:
    assert stream(0, "1").key != stream(0, 1).key


def test_equal_streams_have_equal_keys_whatever_type_their_numbers_have() -> None:
    plain, numpy = stream(5, "mask", 3), stream(np.int64(5), np.str_("mask"), np.int32(3))
    assert plain == numpy
    assert plain.key == numpy.key


@pytest.mark.usefixtures("global_rng_untouched")
def test_generators_begin_anew_each_time() -> None:
    here = stream(0, "x")
    assert torch.rand(3, generator=here.torch()).equal(torch.rand(3, generator=here.torch()))
    assert here.numpy().integers(2**60) == here.numpy().integers(2**60)
    assert here.numpy().integers(2**60) != stream(1, "x").numpy().integers(2**60)


@pytest.mark.usefixtures("global_rng_untouched")
def test_isolated_rng_seeds_the_inside_and_restores_the_outside() -> None:
    def draw() -> tuple[float, ...]:
        with isolated_rng(stream(0, "library")):
            return (
                torch.rand(()).item(),
                np.random.rand(),  # noqa: NPY002
                random.random(),
            )

    assert draw() == draw()


@pytest.mark.usefixtures("global_rng_untouched")
def test_isolated_rng_restores_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), isolated_rng(stream(0)):
        torch.rand(1), random.random(), np.random.rand()  # noqa: NPY002
        _ = 1 / 0


def splitmix64(state: int) -> int:
    """The generator's output function as its authors write it, on whole numbers."""
    mask = 2**64 - 1
    z = state & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def test_splitmix64_is_written_down_rightly() -> None:
    assert splitmix64(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF  # its first output for seed 0


@given(st.integers(0, 2**62), st.integers(0, 2**32))
def test_hash_is_splitmix64_of_key_and_stream(key: int, seed: int) -> None:
    here = stream(seed, "mask")
    expected = splitmix64((key + 1) * 0x9E3779B97F4A7C15 + here.key) >> 11
    assert hash_uniform(torch.tensor([key]), here).item() == expected


def test_a_hash_needs_no_neighbours() -> None:
    keys = torch.arange(1000)
    part = torch.tensor([7, 999, 7])
    assert hash_uniform(keys, stream(0))[part].equal(hash_uniform(part, stream(0)))
    assert keys.equal(torch.arange(1000))  # the input is left alone


@pytest.mark.parametrize("seed", range(5))
def test_hashes_fill_buckets_evenly(seed: int) -> None:
    # Keys as the pairs of a graph have them: in steps, not one after another.
    keys = torch.arange(200_000) * 2708 + 11
    drawn = hash_uniform(keys, stream(seed, "mask", 0))
    assert int(drawn.min()) >= 0 and int(drawn.max()) < TOP
    buckets = torch.bincount(drawn // (TOP // 128), minlength=128)
    assert chisquare(buckets.numpy()).pvalue > 1e-4


@pytest.mark.parametrize("p", [0.01, 0.3, 0.7, 0.99])
def test_hash_below_has_the_right_share_in_every_stretch_of_keys(p: float) -> None:
    drawn = hash_below(torch.arange(200_000), p, stream(3)).view(200, 1000).sum(1).double()
    assert abs(float(drawn.sum()) - 200_000 * p) < 4 * (200_000 * p * (1 - p)) ** 0.5
    # Independent draws: the spread between stretches is the binomial one.
    assert float(drawn.var()) == pytest.approx(1000 * p * (1 - p), rel=0.4)


@pytest.mark.parametrize("other", [stream(0, "mask", 1), stream(1, "mask", 0)])
def test_epochs_and_seeds_are_not_correlated(other: Stream) -> None:
    keys = torch.arange(100_000)
    here, there = hash_below(keys, 0.5, stream(0, "mask", 0)), hash_below(keys, 0.5, other)
    agree = float((here == there).double().mean())
    assert abs(agree - 0.5) < 4 * 0.5 / 100_000**0.5


def test_neighbouring_keys_are_not_correlated() -> None:
    drawn = hash_below(torch.arange(100_001), 0.5, stream(0))
    agree = float((drawn[1:] == drawn[:-1]).double().mean())
    assert abs(agree - 0.5) < 4 * 0.5 / 100_000**0.5


def test_certain_and_impossible_events() -> None:
    keys = torch.arange(10_000)
    assert hash_below(keys, 1.0, stream(0)).all()
    assert not hash_below(keys, 0.0, stream(0)).any()
