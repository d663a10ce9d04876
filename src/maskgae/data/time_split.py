r"""Splits by time: train on the past, validate and test on what came after.

With the times :math:`t_v \le t_t` from which on edges are validated and tested, edges before
:math:`t_v` are trained on, on the nodes that were there by then. A node that came later would be
asked with nothing known of it: of its edges of that time, the later end of which it is, a share
rounded up, the first ones where they have times of their own, is known and passes messages, and
the others are to be found. Where both ends came at once, the source counts as the later.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.data.clock import Clock
from maskgae.data.directions import BACKWARD
from maskgae.data.graph import Graph
from maskgae.data.negatives import NonEdges
from maskgae.data.splits import LinkSplit, edge_weights, oriented


def split_by_time(
    graph: Graph, starts: tuple[float, float], known: float, stream: Stream, val_seen: bool = True
) -> LinkSplit:
    """The split of a graph with a clock.

    Args:
        graph: the whole graph.
        starts: the times from which on edges are for validation and for the test.
        known: the share of a new node's edges that are known.
        stream: where the draws come from.
        val_seen: whether validation edges pass messages at the test.
    """
    clock = _clock(graph)
    val, test = ((clock.times >= t).numpy() for t in starts)
    given, draws = np.zeros(graph.num_pairs, dtype=np.bool_), stream.at("known").numpy()
    for part, start in ((val & ~test, starts[0]), (test, starts[1])):
        places = np.flatnonzero(part)
        given[places] = _known(graph, places, start, known, draws)
    train, in_val, in_test = ~val, val & ~test & ~given, test & ~given
    _check_parts(clock, starts, {"training": train, "validation": in_val, "the test": in_test})
    flags = [torch.from_numpy(np.flatnonzero(part)) for part in (in_val, in_test)]
    edges = [graph.edges(index) for index in flags]
    then = int(torch.searchsorted(clock.since, starts[1]))
    negatives = _negatives(graph, then, edges[0].shape[1], edges[1].shape[1], stream)
    seen = ~in_test if val_seen else ~in_test & ~in_val
    return LinkSplit(
        train=graph.subgraph(_flags(train)).first(int(torch.searchsorted(clock.since, starts[0]))),
        val=edges[0],
        test=edges[1],
        val_negatives=negatives[0],
        test_negatives=negatives[1],
        val_weights=edge_weights(graph, edges[0]),
        val_messages=graph.subgraph(_flags(~test & ~in_val)).first(then),
        test_messages=graph.subgraph(_flags(seen)),
    )


def time_starts(
    graph: Graph,
    val: float,
    test: float,
    val_from: float | None = None,
    test_from: float | None = None,
) -> tuple[float, float]:
    """The times from which on edges are for validation and for the test.

    Those that are not given are such that shares of the edges came from then on; more, where
    several came at once.
    """
    times = np.sort(_clock(graph).times.numpy())
    if test_from is None:
        test_from = float(times[max(0, times.size - max(1, int(times.size * test)))])
    if val_from is None:
        past = times[times < test_from]
        place = past.size - max(1, int(times.size * val))
        val_from = float(past[max(0, place)]) if past.size else test_from
    return val_from, test_from


def _clock(graph: Graph) -> Clock:
    assert graph.clock is not None
    return graph.clock


def _flags(part: NDArray[np.bool_]) -> Tensor:
    return torch.from_numpy(part)


def _known(
    graph: Graph, places: NDArray[np.int64], start: float, share: float, draws: np.random.Generator
) -> NDArray[np.bool_]:
    """Which pairs of a time are known: the first of each node that came then, ``[n] -> [n]``."""
    clock = _clock(graph)
    pairs = graph.pairs[:, places].long()
    since = clock.since[pairs].numpy()
    ties = np.zeros(places.size, dtype=np.bool_)
    if graph.directions is not None:
        ties = (graph.directions[places] == BACKWARD).numpy()
    second = np.where(since[0] == since[1], ties, since[1] > since[0])
    owner = np.where(second, pairs[1], pairs[0])
    order = np.lexsort((draws.random(places.size), clock.times[places].numpy(), owner))
    ordered = owner[order]
    number = np.arange(ordered.size) - np.searchsorted(ordered, ordered)
    counts = np.bincount(owner, minlength=graph.num_nodes)
    known = np.zeros(places.size, dtype=np.bool_)
    known[order] = number < np.ceil(share * counts[ordered] - 1e-9)
    return known & (clock.since[owner].numpy() >= start)


def _negatives(
    graph: Graph, then: int, val: int, test: int, stream: Stream
) -> tuple[Tensor, Tensor]:
    """Non-edges of the whole graph between nodes of their time, all different."""
    early = NonEdges(graph.first(then)).sample_distinct(val, stream.at("val"))
    drawn = NonEdges(graph).sample_distinct(val + test, stream.at("test"))
    keys = [part[0] * graph.num_nodes + part[1] for part in (early, drawn)]
    drawn = drawn[:, ~torch.isin(keys[1], keys[0])]
    order = torch.randperm(drawn.shape[1], generator=stream.at("deal").torch())[:test]
    drawn = drawn[:, order.sort().values]
    return oriented(graph, early, stream.at("early")), oriented(graph, drawn, stream.at("late"))


def _check_parts(
    clock: Clock, starts: tuple[float, float], parts: dict[str, NDArray[np.bool_]]
) -> None:
    for name, part in parts.items():
        if not part.any():
            low, high = float(clock.times.min()), float(clock.times.max())
            raise InputError(
                f"a split by time at {starts[0]:g} and {starts[1]:g} leaves no edge for {name}: "
                f"times go from {low:g} to {high:g} (dates: days since 1970); set split.val_from "
                "and split.test_from"
            )
