"""Loops over the neighbours of pairs of nodes.

Everywhere ``indptr`` and ``indices`` are compressed rows whose columns ascend.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.compiled import compiled

#: A row this many times as long as another is searched, not walked through.
LONGER = 16


@compiled
def first_from(indices: Any, low: int, high: int, value: int) -> int:
    """The first place between two whose column is ``value`` or more."""
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def are_joined(indptr: Any, indices: Any, u: Any, v: Any, out: Any) -> None:
    """Whether the second of two nodes stands in the row of the first: ``[P], [P] -> [P]``."""
    for pair in range(u.size):
        end = indptr[u[pair] + 1]
        place = first_from(indices, indptr[u[pair]], end, v[pair])
        out[pair] = place < end and indices[place] == v[pair]


@compiled
def add_shared(indptr: Any, indices: Any, worth: Any, u: Any, v: Any, out: Any) -> None:
    """Adds up the worths of the columns that two rows share: ``[C, k], [P], [P] -> [P, k]``."""
    for pair in range(u.size):
        one, other = u[pair], v[pair]
        if indptr[one + 1] - indptr[one] > indptr[other + 1] - indptr[other]:
            one, other = other, one
        place, end = indptr[other], indptr[other + 1]
        searched = end - place > LONGER * (indptr[one + 1] - indptr[one])
        for entry in range(indptr[one], indptr[one + 1]):
            column = indices[entry]
            if searched:
                place = first_from(indices, place, end, column)
            while place < end and indices[place] < column:
                place += 1
            if place == end:
                break
            if indices[place] == column:
                for kind in range(worth.shape[1]):
                    out[pair, kind] += worth[column, kind]


@compiled
def row_products(indptr: Any, indices: Any, values: Any, u: Any, v: Any, out: Any) -> None:
    """Inner products of two sparse rows each: ``[P], [P] -> [P]``."""
    for pair in range(u.size):
        place, end, total = indptr[v[pair]], indptr[v[pair] + 1], 0.0
        for entry in range(indptr[u[pair]], indptr[u[pair] + 1]):
            column = indices[entry]
            while place < end and indices[place] < column:
                place += 1
            if place == end:
                break
            if indices[place] == column:
                total += values[entry] * values[place]
        out[pair] = total


@compiled
def add_two_steps(indptr: Any, indices: Any, worth: Any, nodes: Any, out: Any) -> None:
    """Adds up the worths of the neighbours shared with every node: ``[N, k], [n] -> [k, n, N]``."""
    kinds = worth.shape[1]
    at = np.zeros((indptr.size - 1, kinds))
    reached = np.empty(indptr.size - 1, np.int64)
    for row in range(nodes.size):
        count = 0
        for entry in range(indptr[nodes[row]], indptr[nodes[row] + 1]):
            middle = indices[entry]
            for second in range(indptr[middle], indptr[middle + 1]):
                end = indices[second]
                if at[end, 0] == 0:
                    reached[count] = end
                    count += 1
                for kind in range(kinds):
                    at[end, kind] += worth[middle, kind]
        for end in reached[:count]:
            for kind in range(kinds):
                out[kind, row, end] = at[end, kind]
                at[end, kind] = 0


@compiled
def shared_worth(
    indptr: Any,
    indices: Any,
    other_indptr: Any,
    other_indices: Any,
    worth: Any,
    u: Any,
    v: Any,
    out: Any,
) -> None:
    """Worths of the columns that a row of one matrix shares with one of another: ``[P] -> [P]``."""
    for pair in range(u.size):
        place, end = indptr[u[pair]], indptr[u[pair] + 1]
        other, other_end = other_indptr[v[pair]], other_indptr[v[pair] + 1]
        long = end - place > LONGER * (other_end - other)
        other_long = other_end - other > LONGER * (end - place)
        total = 0.0
        while place < end and other < other_end:
            one, two = indices[place], other_indices[other]
            if one == two:
                total += worth[one]
                place += 1
                other += 1
            elif one < two:
                place = first_from(indices, place, end, two) if long else place + 1
            else:
                other = (
                    first_from(other_indices, other, other_end, one) if other_long else other + 1
                )
        out[pair] = total


@compiled
def add_step(indptr: Any, indices: Any, worth: Any, at: Any, out: Any) -> None:
    """One step further along the entries of rows: ``[N], [n, N] -> [n, N]``.

    What lies on a node goes to each of its columns, times the node's worth.
    """
    for row in range(at.shape[0]):
        for node in range(at.shape[1]):
            if at[row, node] == 0:
                continue
            value = at[row, node] * worth[node]
            for entry in range(indptr[node], indptr[node + 1]):
                out[row, indices[entry]] += value


@compiled
def three_steps(
    first: Any, second: Any, last: Any, leave: Any, arrive: Any, start: Any, end: Any, sums: Any
) -> None:
    r""":math:`\sum l_a r_b` over the paths :math:`u a b v`: ``[N], [N], [P], [P] -> [P]``.

    Pairs that follow each other and start at the same node share the walk of two steps.

    Args:
        first: compressed rows, ``indptr`` and ``indices``, of the step from :math:`u` to :math:`a`.
        second: of that from :math:`a` to :math:`b`.
        last: of that from :math:`v` back to :math:`b`.
        leave: :math:`l`.
        arrive: :math:`r`.
        start: :math:`u`.
        end: :math:`v`.
        sums: what is filled.
    """
    indptr, indices = first
    middle_indptr, middle_indices = second
    last_indptr, last_indices = last
    at = np.zeros(indptr.size - 1)
    reached = np.empty(indptr.size - 1, np.int64)
    count, here = 0, -1
    for pair in range(start.size):
        if start[pair] != here:
            for node in reached[:count]:
                at[node] = 0
            count, here = 0, start[pair]
            for entry in range(indptr[here], indptr[here + 1]):
                middle = indices[entry]
                for other in range(middle_indptr[middle], middle_indptr[middle + 1]):
                    node = middle_indices[other]
                    if at[node] == 0:
                        reached[count] = node
                        count += 1
                    at[node] += leave[middle]
        total = 0.0
        for entry in range(last_indptr[end[pair]], last_indptr[end[pair] + 1]):
            total += at[last_indices[entry]] * arrive[last_indices[entry]]
        sums[pair] = total
