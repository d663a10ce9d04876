r"""Communities: groups of nodes with more edges inside than their degrees would give by chance.

Louvain's method (Blondel et al., 2008) in sparse products. A node :math:`v` of strength
:math:`k_v` gains

.. math:: w_{vC} - \gamma_v K_C, \qquad \gamma_v = k_v / 2m

by joining the community :math:`C` whose other members have strength :math:`K_C` and the weight
:math:`w_{vC}` in edges to it. All nodes are judged at once, but only a random half of them moves
in one round: two neighbours that both moved would swap places for ever. When nobody wants to
move, communities become nodes and it begins again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maskgae.base.rng import Stream

Ints = NDArray[np.int64]

#: Beyond this many edges nobody waits for colours.
MAX_PAIRS = 10_000_000
#: Entries of the adjacency that all rounds of one level may visit.
MAX_WORK = 30_000_000
MAX_ROUNDS = 40
MAX_LEVELS = 10


def communities(pairs: NDArray[Any], num_nodes: int, stream: Stream) -> Ints | None:
    """The community of each node, 0 for the largest one; ``None`` where there are too many edges.

    Shapes:
        - **pairs:** ``[2, M]``
        - **output:** ``[N]``

    >>> path = np.array([[0, 1, 0, 3, 4, 3], [1, 2, 2, 4, 5, 5]])
    >>> communities(path, 6, Stream(0)).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if pairs.shape[1] > MAX_PAIRS:
        return None
    u, v = np.asarray(pairs, dtype=np.int64)
    ends = (np.concatenate([u, v]), np.concatenate([v, u]))
    adjacency = sp.csr_array((np.ones(2 * len(u)), ends), shape=(num_nodes, num_nodes))
    member = np.arange(num_nodes, dtype=np.int64)
    for level in range(MAX_LEVELS):
        labels = _moved(adjacency, stream.at("communities", level))
        count = int(labels.max(initial=-1)) + 1
        if count == adjacency.shape[0]:
            break
        member = labels[member]
        indicator = _indicator(labels, count)
        adjacency = sp.csr_array(indicator.T @ adjacency @ indicator)
    return _by_size(member)


def _moved(adjacency: Any, stream: Stream) -> Ints:
    """One level: every node alone at first, then moves until nobody gains, numbered from 0."""
    count = adjacency.shape[0]
    labels = np.arange(count, dtype=np.int64)
    total = adjacency.sum()
    if total == 0:
        return labels
    strength = np.asarray(adjacency.sum(axis=1)).ravel()
    others = adjacency - sp.diags_array(adjacency.diagonal(), format="csr")
    others = sp.csr_array(others)
    others.eliminate_zeros()
    rounds = int(np.clip(MAX_WORK // max(others.nnz, 1), 2, MAX_ROUNDS))
    generator = stream.numpy()
    for _ in range(rounds):
        best, gain = _best_moves(others, labels, strength, total)
        wants = gain > 1e-9 * total
        if not wants.any():
            break
        moves = wants & (generator.random(count) < 0.5)
        labels = np.where(moves, best, labels)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _best_moves(
    others: Any, labels: Ints, strength: NDArray[Any], total: float
) -> tuple[Ints, NDArray[np.float64]]:
    """The best community of each node, and what moving there gains over staying."""
    count = len(labels)
    sizes = np.bincount(labels, weights=strength, minlength=count)
    # [count, count] with an entry for each community that a node has a neighbour in
    towards = sp.csr_array(others @ _indicator(labels, count))
    towards.sort_indices()
    rows = np.repeat(np.arange(count), np.diff(towards.indptr))
    columns = towards.indices.astype(np.int64)
    own = columns == labels[rows]
    value = towards.data - strength[rows] * (sizes[columns] - own * strength[rows]) / total
    stay = -strength * (sizes[labels] - strength) / total
    stay[rows[own]] = value[own]
    best, gain = labels.copy(), np.zeros(count)
    filled = np.flatnonzero(np.diff(towards.indptr))
    if len(filled):
        highest = np.full(count, -np.inf)
        highest[filled] = np.maximum.reduceat(value, towards.indptr[filled])
        # Ties go to the lowest number: later writes win, so they come in reverse.
        winners = np.flatnonzero(value >= highest[rows])[::-1]
        best[rows[winners]] = columns[winners]
        gain[filled] = highest[filled] - stay[filled]
    return best, gain


def _indicator(labels: Ints, count: int) -> Any:
    """``[len(labels), count]`` with a 1 where a node belongs to a community."""
    rows = np.arange(len(labels))
    return sp.csr_array((np.ones(len(labels)), (rows, labels)), shape=(len(labels), count))


def _by_size(member: Ints) -> Ints:
    """Renumbers groups, the largest first; of equal ones the one that begins earlier."""
    _, first, inverse, counts = np.unique(
        member, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -counts))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[inverse]
