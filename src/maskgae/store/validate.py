"""Is this a graph: what every store must keep to, looked through once, part by part."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maskgae.data.graph import Graph
from maskgae.data.pairs import pair_keys
from maskgae.data.structure import Structure
from maskgae.store.arrays import within

#: Pairs or entries that are looked at together.
PART = 2**22


def faults(graph: Graph, structure: Structure, classes: int) -> str | None:
    """What is wrong with the arrays of a graph, in a few words, or ``None``.

    Args:
        graph: with pairs, labels and weights.
        structure: both directions of its pairs, pointers checked.
        classes: how many names of classes there are; 0 where they have none.
    """
    if not _pairs_ascend(graph):
        return "its pairs must ascend, each once, the smaller end first"
    if not _rows_are_pairs(graph, structure):
        return "its rows must have both directions of every pair"
    labels, most = graph.labels, classes or graph.num_nodes
    if labels is not None and not within(labels.numpy(), -1, most):
        return f"its labels must lie from -1 to {most - 1:,}"
    ways = graph.directions
    if ways is not None and not within(ways.numpy(), 1, 4):
        return "its directions must lie from 1 to 3"
    clock = graph.clock
    if clock is not None and not bool((clock.since[1:] >= clock.since[:-1]).all()):
        return "its nodes must be numbered as they came"
    if clock is not None and not bool(clock.times.isfinite().all()):
        return "its times must be finite"
    weights = graph.weights
    if weights is not None and not bool((weights.isfinite() & (weights > 0)).all()):
        return "its weights must be finite and above 0"
    return None


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, start + PART) for start in range(0, count, PART))


def _pairs_ascend(graph: Graph) -> bool:
    last = -1
    for part in _parts(graph.num_pairs):
        pairs = graph.pairs[:, part]
        keys = pair_keys(pairs, graph.num_nodes).numpy()
        if not (pairs[0] < pairs[1]).all() or keys[0] <= last or not (np.diff(keys) > 0).all():
            return False
        last = int(keys[-1])
    return True


def _rows_are_pairs(graph: Graph, structure: Structure) -> bool:
    """Whether each entry is an end of its pair, as many entries as ends, each column once a row."""
    indptr, indices = structure.csr.indptr.numpy(), structure.csr.indices.numpy()
    ends, entries = graph.pairs.numpy(), structure.pair_of_entry.numpy()
    if entries.size != 2 * graph.num_pairs:
        return False
    previous = (-1, -1)
    for part in _parts(entries.size):
        numbers = np.arange(part.start, min(part.stop, entries.size))
        rows = np.searchsorted(indptr, numbers, side="right") - 1
        columns, pairs = indices[part], ends[:, entries[part]]
        if not (
            (np.minimum(rows, columns) == pairs[0]).all()
            and (np.maximum(rows, columns) == pairs[1]).all()
        ):
            return False
        same_row = np.diff(rows) == 0
        if not (np.diff(columns)[same_row] > 0).all() or previous >= (rows[0], columns[0]):
            return False
        previous = (int(rows[-1]), int(columns[-1]))
    return True
