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
======================  ==========================================================

A pair is the same in either direction. Which share of the targets stays visible to the encoder
is measured where masks are drawn.
"""

from __future__ import annotations

import torch
from torch import Tensor

from maskgae.base.errors import RunError
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
        "held_out_leaks": count_held_out(split, split.train.pairs),
        "val_test_overlap": int(torch.isin(val, test).sum()),
        "held_out_duplicates": sum(_duplicates(_keys(graph, x)) for x in (split.val, split.test)),
        "negative_edges": int(graph.has(negatives).sum()),
        "negative_loops": _loops(negatives),
        "negative_duplicates": _duplicates(pair_keys(negatives, graph.num_nodes)),
    }
    if graph.types is not None:
        counts["negative_types"] = int((~graph.types.allow(negatives)).sum())
    if refuse:
        _refuse(counts, "this split is not clean", "draw it anew from the whole graph")
    return counts


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
    num_nodes = split.train.num_nodes
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
