"""Whole graph or batches: what fits, and what to change where nothing does."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from maskgae.base.errors import InputError
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.training.memory import (
    VARIABLE,
    available_memory,
    block_sizes,
    expected_targets,
    fit_memory,
    show_size,
)
from maskgae.training.parallel import local_ranks, ranks

#: Targets of one update that are tried, from the most on.
BATCHES = (65536, 32768, 16384, 8192, 4096, 2048, 1024)
#: Neighbours per hop that are tried, and the entries that an update should not look at more of.
FANOUTS, MOST_ENTRIES = (10, 5), 2**22
#: Updates after which an epoch on a large graph ends, so that it is validated now and then.
MOST_STEPS = 50


@dataclass(frozen=True)
class Plan:
    """How a graph will be trained on, and what that takes.

    Args:
        settings: complete with those of batches, where there are batches.
        needed: bytes, at the peak, beyond what is resident.
        available: bytes.
    """

    settings: Settings
    needed: float
    available: float

    def __str__(self) -> str:
        config = self.settings.training
        sizes = f"about {show_size(self.needed)} of {show_size(self.available)} available"
        if self.settings.encoder.kind == "none":
            return f"memory: {sizes}; no network: the rules and the joined inputs"
        how = "the whole graph at once"
        if config.batch_pairs:
            how = f"batches of {config.batch_pairs:,} pairs"
        if config.fanouts:
            how += f" with {_words(config.fanouts)} neighbours sampled per hop"
        here = ranks()
        shared = "" if here.alone else f", shared by {here.world} ranks"
        return f"memory: {sizes}; training on {how}{shared}"


def plan_fit(
    graph: Graph, settings: Settings, batch_pairs: int | None = None, given: Collection[str] = ()
) -> Plan:
    """Chooses between the whole graph and batches.

    Args:
        graph: what is fitted.
        settings: what is to be completed.
        batch_pairs: targets of an update, where the user wants batches; 0 for the whole graph.
        given: the keys that the user has set, which stay as they are.

    Raises:
        InputError: if the memory is too small for what is wanted, or for anything.
    """
    if not isinstance(batch_pairs, int | None):
        raise InputError(f"batch_pairs must be a whole number from 0 on, not {batch_pairs!r}")
    available = available_memory() // local_ranks()
    plans = [
        Plan(choice, fit_memory(graph, choice), available)
        for choice in _choices(graph, settings, batch_pairs, given)
    ]
    for plan in plans:
        if plan.needed <= available:
            return plan
    smallest = min(plans, key=lambda plan: plan.needed)
    raise InputError(
        f"this fit needs about {show_size(smallest.needed)} of memory and "
        f"{show_size(available)} are available: {_way_out(smallest.settings)}, or, "
        f"if you know better, set {VARIABLE}"
    )


def with_batches(
    graph: Graph, settings: Settings, pairs: int, given: Collection[str] = ()
) -> Settings:
    """Settings for batches, in which an epoch has several updates instead of one.

    Epochs, patience and the time between validations are divided by the updates of an epoch, so
    that a training run has about as many updates as before. What is ``given`` stays.
    """
    values: dict[str, Any] = {"training.batch_pairs": pairs, "training.batches": "shared"}
    updates = math.ceil(expected_targets(graph, settings) / pairs)
    if updates > 2 * MOST_STEPS:
        values["training.epoch_steps"] = updates = MOST_STEPS
    config = settings.training
    # Where updates are limited, the epochs leave room for all of them.
    values["training.epochs"] = math.ceil(max(config.epochs, config.max_steps) / updates)
    values["training.patience"] = math.ceil(config.patience / updates)
    values["training.eval_every"] = max(1, round(config.eval_every / updates))
    for fanout in FANOUTS:
        values["training.fanouts"] = [fanout]
        trial = settings.updated({k: v for k, v in values.items() if k not in given})
        if sum(block_sizes(graph, trial)[1]) <= MOST_ENTRIES:
            break
    return trial


def _choices(
    graph: Graph, settings: Settings, batch_pairs: int | None, given: Collection[str]
) -> Iterator[Settings]:
    """What to try, the dearest first."""
    config = settings.training
    if settings.encoder.kind == "none":
        yield settings
        return
    if batch_pairs:
        yield with_batches(graph, settings, batch_pairs, given)
        return
    yield settings
    if batch_pairs is None and not (config.batch_pairs or config.fanouts):
        targets = expected_targets(graph, settings)
        for pairs in BATCHES:
            if pairs < targets:
                yield with_batches(graph, settings, pairs, given)


def _way_out(settings: Settings) -> str:
    config = settings.training
    if config.fanouts:
        return (
            f"lower --batch-pairs ({config.batch_pairs:,}), training.fanouts "
            f"({_words(config.fanouts)}), encoder.hidden or encoder.dim, or use a larger machine"
        )
    return "give --batch-pairs 1024, or lower encoder.hidden or encoder.dim"


def _words(fanouts: tuple[int, ...]) -> str:
    return ", ".join(str(fanout) for fanout in fanouts)
