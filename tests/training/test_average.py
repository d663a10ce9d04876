"""The moving average of weights."""

import pytest
import torch
from torch import nn

from maskgae.training.average import Average


def net(value: float) -> nn.Module:
    made = nn.BatchNorm1d(1)
    made.weight.data.fill_(value)
    return made


def test_the_first_steps_forget_the_start_quickly() -> None:
    ours = net(0.0)
    average = Average(ours, 0.99)
    expected = 0.0
    for step, value in enumerate([1.0, 2.0, 3.0], 1):
        ours.weight.data.fill_(value)
        average.update(ours)
        decay = (1 + step) / (10 + step)
        expected = decay * expected + (1 - decay) * value
    assert average.state["weight"].item() == pytest.approx(expected)


def test_a_small_decay_holds_from_the_start() -> None:
    ours = net(1.0)
    average = Average(ours, 0.1)
    ours.weight.data.fill_(2.0)
    average.update(ours)
    assert average.state["weight"].item() == pytest.approx(0.1 * 1 + 0.9 * 2)


def test_counts_are_copied_and_statistics_averaged() -> None:
    ours = net(1.0)
    average = Average(ours, 0.1)
    ours(torch.tensor([[1.0], [3.0]]))
    average.update(ours)
    assert average.state["num_batches_tracked"].item() == 1
    assert average.state["running_mean"].item() == pytest.approx(0.9 * 0.1 * 2)


def test_swapping_twice_changes_nothing() -> None:
    ours = net(1.0)
    average = Average(ours, 0.5)
    ours.weight.data.fill_(2.0)
    average.swap(ours)
    assert (ours.weight.item(), average.state["weight"].item()) == (1.0, 2.0)
    average.swap(ours)
    assert (ours.weight.item(), average.state["weight"].item()) == (2.0, 1.0)


def test_the_average_is_a_copy() -> None:
    ours = net(1.0)
    average = Average(ours, 0.5)
    ours.weight.data.fill_(5.0)
    assert average.state["weight"].item() == 1.0
