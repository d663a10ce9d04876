"""Loops that look for the nodes near a node that are most likely its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.compiled import compiled


@compiled
def _by_worth(worths: Any, sizes: Any, most: int) -> Any:
    """The order to walk in: as it is, or the worthiest first where there is too much to walk."""
    if sizes.sum() <= most:
        return np.arange(sizes.size)
    order = np.argsort(-worths)
    total = 0
    for place in range(order.size):
        total += sizes[order[place]]
        if total > most:
            return order[: max(1, place)]
    return order


@compiled
def _two_steps(
    indptr: Any, indices: Any, worth: Any, own: Any, order: Any, at: Any, found: Any
) -> int:
    """Adds up the worths of the neighbours shared with every node; lists those that share one."""
    count = 0
    for place in order:
        middle = own[place]
        one, two, three = worth[middle]
        for entry in range(indptr[middle], indptr[middle + 1]):
            end = indices[entry]
            if at[end, 0] == 0:
                found[count] = end
                count += 1
            at[end, 0] += one
            at[end, 1] += two
            at[end, 2] += three
    return count


@compiled
def _third_step(
    indptr: Any, indices: Any, steps: Any, middles: Any, order: Any, at: Any, found: Any
) -> int:
    """Adds up steps from some nodes at their neighbours, and lists these."""
    count = 0
    for place in order:
        middle, step = middles[place], steps[place]
        for entry in range(indptr[middle], indptr[middle + 1]):
            end = indices[entry]
            if at[end] == 0:
                found[count] = end
                count += 1
            at[end] += step
    return count


@compiled
def _sink(scores: Any, nodes: Any, score: float, node: int) -> None:
    """Puts a node in the place of the lowest one, the root of the heap."""
    place = 0
    while 2 * place + 1 < scores.size:
        child = 2 * place + 1
        if child + 1 < scores.size and scores[child + 1] < scores[child]:
            child += 1
        if scores[child] >= score:
            break
        scores[place], nodes[place] = scores[child], nodes[child]
        place = child
    scores[place], nodes[place] = score, node


@compiled
def best_near(
    indptr: Any,
    indices: Any,
    worth: Any,
    weights: Any,
    scale: float,
    ends: Any,
    allowed: Any,
    codes: Any,
    known_indptr: Any,
    known_indices: Any,
    nodes: Any,
    most: int,
    out: Any,
) -> None:
    r"""The nodes up to three steps away with the highest score by walks and degrees alone.

    With :math:`c, a, r` the sums of three worths over common neighbours and :math:`t` that of
    paths of three steps, a node :math:`v` scores :math:`w_1 \log(1 + c) + w_2 \log(1 + a) +
    w_3 \sqrt r + w_4 \sqrt t + w_5 |l_u - l_v| + b_v`, or with :math:`\log(1 + k x)` in the place
    of both roots.

    Args:
        indptr: where rows begin.
        indices: the neighbours.
        worth: of a common neighbour, ``[N, 3]``; the last is one over its degree.
        weights: :math:`w`, ``[5]``.
        scale: :math:`k`, 0 for the roots.
        ends: one over the root of the degree, :math:`l` and :math:`b` of each node, ``[N, 3]``.
        allowed: which types may be joined, ``[T, T]``.
        codes: the type of each node, ``[N]``.
        known_indptr: of the rows whose entries are no candidates.
        known_indices: their entries.
        nodes: whose candidates, ``[n]``.
        most: entries to walk over in a step; where there are more, the least worthy are left.
        out: where they go to, -1 where there are no more, ``[n, k]``.
    """
    count = indptr.size - 1
    shared, third, seen = np.zeros((count, 3)), np.zeros(count), np.full(count, -1, np.int32)
    two, three = np.empty(count, np.int32), np.empty(count, np.int32)
    scores, sizes = np.empty(out.shape[1]), indptr[1:] - indptr[:-1]
    for row in range(nodes.size):
        node, kinds = nodes[row], allowed[codes[nodes[row]]]
        own = indices[indptr[node] : indptr[node + 1]].astype(np.int32)
        order = _by_worth(worth[own, 2], sizes[own], most)
        near = two[: _two_steps(indptr, indices, worth, own, order, shared, two)]
        steps = shared[near, 2] * worth[near, 2]
        order = _by_worth(steps, sizes[near], most)
        far = three[: _third_step(indptr, indices, steps, near, order, third, three)]
        seen[node] = row
        for entry in range(known_indptr[node], known_indptr[node + 1]):
            seen[known_indices[entry]] = row
        scores[:], out[row] = -np.inf, -1
        root, level = ends[node, 0], ends[node, 1]
        # Beside them, an edge that goes the other way is a candidate of a directed graph.
        for number, part in enumerate((near, own, far)):
            for end in part:
                if seen[end] == row or not kinds[codes[end]]:
                    continue
                seen[end] = row
                path = third[end] * root * ends[end, 0]
                total = weights[3] * (np.log1p(scale * path) if scale else np.sqrt(path))
                total += weights[4] * abs(level - ends[end, 1]) + ends[end, 2]
                if number == 0:
                    total += weights[0] * np.log1p(shared[end, 0])
                    total += weights[1] * np.log1p(shared[end, 1])
                    common = shared[end, 2]
                    total += weights[2] * (np.log1p(scale * common) if scale else np.sqrt(common))
                if total > scores[0]:
                    _sink(scores, out[row], total, end)
        shared[near], third[far] = 0, 0
