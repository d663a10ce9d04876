"""Loops that cut out and label the subgraphs that enclose pairs of nodes.

Everywhere ``indptr`` and ``indices`` are compressed rows whose columns ascend, ``place`` has -1 for
every node that is outside, and ``found`` room for all nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.blocks import mixed
from maskgae.kernels.compiled import compiled


@compiled
def enclose(
    indptr: Any, indices: Any, ends: Any, hops: int, most: int, salts: Any, seed: int
) -> Any:
    """The enclosing subgraphs of pairs ``[2, P]`` side by side.

    Args:
        indptr: where rows begin.
        indices: their columns.
        ends: two nodes of each pair; where they are the same one, its own surroundings.
        hops: how far from either end.
        most: nodes that a hop adds to a subgraph at most, those of the lowest hash; 0 for all.
        salts: what the keys of each pair's nodes begin with.
        seed: of the hash.

    Returns:
        Where each subgraph begins; its nodes, ascending; their labels; where the rows of all nodes
        begin, and their columns.
    """
    size = indptr.size - 1
    place, found = np.full(size, -1, np.int32), np.empty(size, np.int64)
    offsets = np.zeros(ends.shape[1] + 1, np.int64)
    nodes, labels = np.empty(1024, np.int64), np.empty(1024, np.int64)
    starts, columns = np.zeros(1025, np.int64), np.empty(4096, np.int32)
    for pair in range(ends.shape[1]):
        one, other, first = ends[0, pair], ends[1, pair], offsets[pair]
        count = _grow(indptr, indices, one, other, hops, most, salts[pair], seed, place, found)
        last = first + count
        offsets[pair + 1] = last
        nodes, labels = _with_room(nodes, last), _with_room(labels, last)
        starts = _with_room(starts, last + 1)
        nodes[first:last] = found[:count]
        one, other = place[one], place[other]
        most_edges = starts[first]
        for node in found[:count]:
            most_edges += indptr[node + 1] - indptr[node]
        columns = _with_room(columns, most_edges)
        _join(indptr, indices, place, found[:count], one, other, starts[first : last + 1], columns)
        _label(starts[first : last + 1], columns, one, other, labels[first:last])
        columns[starts[first] : starts[last]] += np.int32(first)
        for node in found[:count]:
            place[node] = -1
    last = offsets[-1]
    return offsets, nodes[:last], labels[:last], starts[: last + 1], columns[: starts[last]]


@compiled
def _with_room(array: Any, needed: int) -> Any:
    if needed <= array.size:
        return array
    larger = np.empty(max(needed, 2 * array.size), array.dtype)
    larger[: array.size] = array
    return larger


@compiled
def _grow(
    indptr: Any,
    indices: Any,
    one: int,
    other: int,
    hops: int,
    most: int,
    salt: int,
    seed: int,
    place: Any,
    found: Any,
) -> int:
    """Finds what lies within some hops of two nodes and numbers it, ascending; how many it is."""
    first, count = 0, 1 if one == other else 2
    found[count - 1], found[0] = other, one
    place[one] = place[other] = 0
    for _ in range(hops):
        last = count
        for node in found[first:last]:
            for neighbour in indices[indptr[node] : indptr[node + 1]]:
                if place[neighbour] == -1:
                    place[neighbour] = 0
                    found[count] = neighbour
                    count += 1
        if most and count - last > most:
            _keep_lowest(found[last:count], most, salt, seed, place)
            count = last + most
        first = last
    found[:count].sort()
    for number in range(count):
        place[found[number]] = number
    return count


@compiled
def _keep_lowest(new: Any, most: int, salt: int, seed: int, place: Any) -> None:
    """Brings the nodes of the lowest hash to the front and lets the others go."""
    new.sort()
    hashes = np.empty(new.size, np.int64)
    for number in range(new.size):
        hashes[number] = mixed(salt + new[number], seed)
    order = np.argsort(hashes, kind="mergesort")
    for number in order[most:]:
        place[new[number]] = -1
    new[:most] = new[order[:most]]


@compiled
def _join(
    indptr: Any,
    indices: Any,
    place: Any,
    found: Any,
    one: int,
    other: int,
    starts: Any,
    columns: Any,
) -> None:
    """Writes the edges between the found nodes, by their numbers, but for the pair itself."""
    edge = starts[0]
    for row in range(found.size):
        for neighbour in indices[indptr[found[row]] : indptr[found[row] + 1]]:
            column = place[neighbour]
            asked = (row == one and column == other) or (row == other and column == one)
            if column >= 0 and not asked:
                columns[edge] = column
                edge += 1
        starts[row + 1] = edge


@compiled
def _label(starts: Any, columns: Any, one: int, other: int, labels: Any) -> None:
    """Double-radius labels: 1 at both ends, 0 where one of them cannot be reached."""
    labels[:] = 0
    labels[one] = labels[other] = 1
    if one == other:  # without it nothing is within reach of it
        return
    there, back = np.full(labels.size, -1, np.int64), np.full(labels.size, -1, np.int64)
    _walk(starts, columns, one, other, there)
    _walk(starts, columns, other, one, back)
    for node in range(labels.size):
        total = there[node] + back[node]
        half, least = total // 2, min(there[node], back[node])
        if least >= 0:
            labels[node] = 1 + least + half * (half + total % 2 - 1)


@compiled
def _walk(starts: Any, columns: Any, source: int, blocked: int, steps: Any) -> None:
    """Steps from the source with a node taken away, over -1, which stays where no way leads."""
    queue = np.empty(steps.size, np.int64)
    queue[0], steps[source], steps[blocked] = source, 0, -2
    first, count = 0, 1
    while first < count:
        node = queue[first]
        first += 1
        for neighbour in columns[starts[node] : starts[node + 1]]:
            if steps[neighbour] == -1:
                steps[neighbour] = steps[node] + 1
                queue[count] = neighbour
                count += 1
