"""PageRank from one node by pushing what is left over to the neighbours."""

from __future__ import annotations

from typing import Any

from maskgae.kernels.compiled import compiled


@compiled
def push_pagerank(
    indptr: Any,
    indices: Any,
    start: int,
    teleport: float,
    tolerance: float,
    kept: Any,
    left: Any,
    queue: Any,
    waits: Any,
) -> None:
    """Approximate personalised PageRank (Andersen, Chung and Lang, FOCS 2006).

    A node keeps what has come to it and passes the rest on, until nobody has more left than
    ``tolerance`` times the teleport and the degree. Who came first is served first: the other way
    round takes far longer for the same.

    Args:
        indptr: where rows begin.
        indices: their columns.
        start: where the walks start.
        teleport: how likely a walk starts again.
        tolerance: below which nothing is passed on.
        kept: zeros; what each node keeps.
        left: zeros; what each has left over.
        queue: room for all nodes.
        waits: all false; who is in the queue.
    """
    left[start], queue[0], first, waiting = teleport, start, 0, 1
    while waiting:
        node = queue[first]
        first, waiting, waits[node] = (first + 1) % queue.size, waiting - 1, False
        given, begin, end = left[node], indptr[node], indptr[node + 1]
        kept[node] += given
        left[node] = 0.0
        for entry in range(begin, end):
            other = indices[entry]
            left[other] += (1 - teleport) * given / (end - begin)
            degree = indptr[other + 1] - indptr[other]
            if not waits[other] and left[other] >= tolerance * teleport * degree:
                queue[(first + waiting) % queue.size] = other
                waiting, waits[other] = waiting + 1, True
