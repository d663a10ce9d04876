"""Loops that cut blocks: drawing neighbours and numbering nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.compiled import compiled

#: Draws that a node has before its numbers run into the next node's.
DRAWS = 2**24
#: Nodes are sorted where they are fewer than one in so many, else found in a sweep over all.
FEW = 32


@compiled
def mixed(key: int, seed: int) -> Any:
    """A number below 2^53 from a key: :func:`maskgae.base.rng.hash_uniform`, one at a time."""
    x = np.uint64(key + 1) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return np.int64(x >> np.uint64(11))


@compiled
def uniform(key: int, seed: int) -> float:
    """A number in [0, 1) from a key."""
    return float(mixed(key, seed)) * 2.0**-53


@compiled
def _shown(visible: Any, pairs: Any, entry: int) -> bool:
    return True if visible is None else visible[pairs[entry]]


@compiled
def _insert(entries: Any, first: int, count: int, entry: int) -> bool:
    """Puts an entry among ``count`` ascending ones, unless it is there."""
    place = first + count
    while place > first and entries[place - 1] >= entry:
        place -= 1
    if place < first + count and entries[place] == entry:
        return False
    for later in range(first + count, place, -1):
        entries[later] = entries[later - 1]
    entries[place] = entry
    return True


@compiled
def draw_entries(
    indptr: Any, pairs: Any, visible: Any, seen: Any, nodes: Any, starts: Any, key: int, out: Any
) -> None:
    """Some visible entries of each node's row, ascending, every set of them equally likely.

    Rows of which at least half is wanted are walked through; of others, entries are drawn until
    enough different ones were visible. What a node draws follows from its number and the key.

    Args:
        indptr: where rows begin.
        pairs: the pair of each entry.
        visible: which pairs can be seen, or ``None`` for all.
        seen: how many visible entries each node has.
        nodes: whose rows.
        starts: where each node's entries go to; as many as it has room for are wanted.
        key: of the stream.
        out: the places of the entries.
    """
    for row in range(nodes.size):
        node, place, left = nodes[row], starts[row], seen[nodes[row]]
        first, size = indptr[node], indptr[node + 1] - indptr[node]
        wanted, draw = starts[row + 1] - place, node * DRAWS
        if left <= 2 * wanted:
            for entry in range(first, first + size):
                if wanted == 0:
                    break
                if not _shown(visible, pairs, entry):
                    continue
                if wanted == left or uniform(draw, key) * left < wanted:
                    out[place] = entry
                    place += 1
                    wanted -= 1
                left -= 1
                draw += 1
            continue
        count = 0
        while count < wanted:
            entry = first + np.int64(uniform(draw, key) * size)
            draw += 1
            if _shown(visible, pairs, entry) and _insert(out, place, count, entry):
                count += 1


@compiled
def number_nodes(place: Any, nodes: Any, columns: Any) -> Any:
    """Numbers the nodes, then what else stands in the columns, ascending.

    Args:
        place: -1 for every node of the graph, before and after.
        nodes: those that come first, in their order.
        columns: nodes, which become their numbers in place.

    Returns:
        The numbered nodes.
    """
    found = np.empty(nodes.size + min(columns.size, place.size), np.int64)
    found[: nodes.size] = nodes
    count = nodes.size
    for number in range(nodes.size):
        place[nodes[number]] = number
    for node in columns:
        if place[node] == -1:
            place[node] = -2
            found[count] = node
            count += 1
    if (count - nodes.size) * FEW < place.size:
        found[nodes.size : count].sort()
    else:
        count = nodes.size
        for node in range(place.size):
            if place[node] == -2:
                found[count] = node
                count += 1
    for number in range(nodes.size, count):
        place[found[number]] = number
    for entry in range(columns.size):
        columns[entry] = place[columns[entry]]
    for node in found[:count]:
        place[node] = -1
    return found[:count].copy()
