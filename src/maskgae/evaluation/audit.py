"""The leak audit, which fails a run in which something held out could have been seen.

It looks at the pairs themselves, after the draws and apart from them, and counts

======================  ==========================================================
held_out_leaks          validation or test pairs that are training pairs
val_test_overlap        validation pairs that are test pairs
held_out_duplicates     pairs that stand twice in validation or in test
negative_edges          held-out negatives that are edges of the whole graph
negative_loops          held-out negatives that join a node to itself
negative_duplicates     held-out negatives that stand twice, in either part
negative_types          where nodes have types: held-out negatives that no edge could be
later_targets           where edges have times: training pairs of the time of held-out ones
later_messages          pairs that pass messages before their time, at validation or test; of its
                        own time only what is known of a node that came then may
======================  ==========================================================

A pair is the same in either direction. Which share of the targets stays visible to the encoder
is measured where masks are drawn.
"""

from __future__ import annotations

import torch
from torch import Tensor

from maskgae.base.errors import RunError
from maskgae.data.clock import Clock
from maskgae.data.graph import Graph
from maskgae.data.pairs import contains_keys, pair_keys
from maskgae.data.splits import LinkSplit


def audit_split(graph: Graph, split: LinkSplit, *, refuse: bool = True) -> dict[str, int]:
    """Counts what must not be in a split, and refuses a split in which any count is not zero.

    Args:
        graph: the whole graph, training and held-out pairs together.
        split: what is to be checked.
        refuse: whether to fail on a count above zero; public splits that repeat an edge, as
            those by year do, are only counted.

    Raises:
        RunError: names every count that is not zero.

    >>> from maskgae.data.splits import split_links
    >>> from maskgae.base.rng import stream
    >>> ring = Graph.from_edges([(i, (i + 1) % 20) for i in range(20)])
    >>> audit_split(ring, split_links(ring, 0.1, 0.1, stream(0)))["held_out_leaks"]
    0
    """
    val, test = (pair_keys(pairs, graph.num_nodes) for pairs in (split.val, split.test))
    negatives = torch.cat([split.val_negatives, split.test_negatives], dim=1)
    counts = {
        "held_out_leaks": count_held_out(split, split.train.pairs) + _seen_leaks(split),
        "val_test_overlap": int(torch.isin(val, test).sum()),
        "held_out_duplicates": sum(_duplicates(_keys(graph, x)) for x in (split.val, split.test)),
        "negative_edges": int(graph.has(negatives).sum()),
        "negative_loops": _loops(negatives),
        "negative_duplicates": _duplicates(pair_keys(negatives, graph.num_nodes)),
    }
    if graph.types is not None:
        counts["negative_types"] = int((~graph.types.allow(negatives)).sum())
    if graph.clock is not None:
        counts |= _later(graph.clock, split)
    if refuse:
        _refuse(counts, "this split is not clean", "draw it anew from the whole graph")
    return counts


def _later(clock: Clock, split: LinkSplit) -> dict[str, int]:
    """What is seen before its time."""
    first, last = (float(clock.at(pairs).min()) for pairs in (split.val, split.test))
    late = clock.at(split.train.pairs) >= min(first, last)
    messages = 0
    for graph, start, end in (
        (split.val_messages, first, last),
        (split.test_messages, last, torch.inf),
    ):
        if graph is not None:
            times, came = clock.at(graph.pairs), clock.since[graph.pairs.long()].amax(0)
            messages += int(((times >= end) | ((times >= start) & (came < start))).sum())
    return {"later_targets": int(late.sum()), "later_messages": messages}


def _seen_leaks(split: LinkSplit) -> int:
    """Held-out pairs that pass messages when they are asked for, in a split that says what does."""
    leaks = 0
    for graph, pairs in ((split.val_messages, split.val), (split.test_messages, split.test)):
        leaks += 0 if graph is None else int(graph.contains(pairs).sum())
    return leaks


def audit_negatives(graph: Graph, negatives: Tensor) -> dict[str, int]:
    """Checks each training negative against the training graph it was drawn for.

    Shapes:
        - **negatives:** ``[2, P]``

    Raises:
        RunError: if one is an edge or joins a node to itself.

    >>> audit_negatives(Graph.from_edges([(0, 1), (1, 2)]), torch.tensor([[0], [2]]))
    {'training_negative_edges': 0, 'training_negative_loops': 0}
    """
    counts = {
        "training_negative_edges": int(graph.has(negatives).sum()),
        "training_negative_loops": _loops(negatives),
    }
    if graph.types is not None:
        counts["training_negative_types"] = int((~graph.types.allow(negatives)).sum())
    rule = "training negatives must be non-edges of the training graph"
    _refuse(counts, rule, "draw them by NonEdges(graph)")
    return counts


def count_held_out(split: LinkSplit, pairs: Tensor) -> int:
    """How many held-out pairs, validation and test, stand among the given ones ``[2, P]``."""
    num_nodes = split.num_nodes
    held_out = pair_keys(torch.cat([split.val, split.test], dim=1), num_nodes)
    seen = pair_keys(pairs, num_nodes)
    if not bool((seen[1:] >= seen[:-1]).all()):
        seen = seen.sort().values
    return int(contains_keys(seen, held_out).sum())


def _duplicates(keys: Tensor) -> int:
    return keys.numel() - keys.unique().numel()


def _keys(graph: Graph, pairs: Tensor) -> Tensor:
    """One number an edge; in a directed graph another one for the other way."""
    if graph.directed:
        return pairs[0] * graph.num_nodes + pairs[1]
    return pair_keys(pairs, graph.num_nodes)


def _loops(pairs: Tensor) -> int:
    return int((pairs[0] == pairs[1]).sum())


def _refuse(counts: dict[str, int], rule: str, way_out: str) -> None:
    found = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
    if found:
        raise RunError(f"the leak audit failed, {rule}: {found}; {way_out}")
