r"""HeaRT's negatives to the letter, so that its published rows can be compared with.

:mod:`~maskgae.evaluation.hard` follows the paper's idea (Li et al., NeurIPS 2023). The published
code, which made the published numbers, does more and less than the paper says, and
``split.hard_rule=heart`` does the same:

- A partner's place is the best of its ranks by resource allocation, PageRank and feature cosine.
  Among :math:`m` scores above zero the ranks go from 1 on, ties at the last of theirs; **all zeros
  share the next rank** and known neighbours the one after. So where two nodes share a neighbour
  with an end, all nodes without one come third, and which of them are taken is left to ``topk``.
- The row of feature cosines is **overwritten by its ranks**. The next pair of the same end ranks
  these ranks: the least similar node comes first, and partners of earlier pairs before it.
- Everything is computed on training edges, at the test too. **Only training edges are left out** at
  validation, training and validation edges at the test: other edges of the test stay candidates.
- Validation edges come first and the test's after them, over the same overwritten rows.
- Nodes that score zero by all three are drawn with replacement where others are too few.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.data.features import scaled_rows
from maskgae.data.graph import Graph
from maskgae.data.splits import LinkSplit, joined
from maskgae.evaluation.count_rules import compressed

#: PageRank's teleport, and what it leaves over: as in the commands published for Cora and CiteSeer.
TELEPORT, TOLERANCE = 0.15, 1e-7

Floats = NDArray[np.float32]


def heart_negatives(split: LinkSplit, count: int, stream: Stream) -> tuple[Tensor, Tensor]:
    """The negatives of validation and of test pairs, one pair's after the other's.

    Args:
        split: an undirected graph's.
        count: negatives of each pair, an even number; half keep its first end, half the second.
        stream: where nodes that score nothing are drawn from.

    Shapes:
        - **output:** ``[2, V * count]``, ``[2, T * count]``

    >>> from maskgae.base.rng import stream
    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)])
    >>> pairs, none = torch.tensor([[0], [4]]), torch.empty(2, 0, dtype=torch.long)
    >>> heart_negatives(LinkSplit(path, pairs, pairs, none, none), 2, stream(0))[0].tolist()
    [[0, 4], [2, 2]]
    """
    train = split.train
    if train.directed or train.types is not None or count % 2:
        raise InputError(
            "split.hard_rule=heart knows undirected graphs of one kind of nodes and an even "
            f"split.hard_negatives, here {count}: set split.hard_rule=ours"
        )
    search = _Search(train, count // 2, stream)
    held_out = ((split.val, train), (split.test, joined(train, split.val, None)))
    val, test = (
        search.negatives(pairs, compressed(known.structure.csr)) for pairs, known in held_out
    )
    return val, test


class _Search:
    """Looks for partners, pair by pair; the order matters, since rows are overwritten."""

    def __init__(self, train: Graph, count: int, stream: Stream) -> None:
        self.count, self.nodes, self.random = count, train.num_nodes, stream.numpy()
        self.rows = compressed(train.structure.csr)
        ones = np.ones(self.rows[1].size, dtype=np.float32)
        self.edges = sp.csr_matrix((ones, self.rows[1], self.rows[0]), (self.nodes, self.nodes))
        degrees = train.degrees.numpy().astype(np.float32)
        self.shared = sp.diags(1 / degrees.clip(1)).astype(np.float32) @ self.edges
        self.features = None if train.features is None else scaled_rows(train.features)
        #: Rows of feature cosines by node, or what has become of them.
        self.cosines: dict[int, Floats] = {}

    def negatives(self, pairs: Tensor, known: tuple[NDArray[Any], NDArray[Any]]) -> Tensor:
        """``[2, P] -> [2, P * 2 * count]``"""
        found = [
            np.stack([np.full(self.count, end), self.partners(end, other, known)])
            for pair in pairs.T.tolist()
            for end, other in (pair, reversed(pair))
        ]
        return torch.from_numpy(np.concatenate([np.empty((2, 0), dtype=np.int64), *found], axis=1))

    def partners(
        self, end: int, other: int, known: tuple[NDArray[Any], NDArray[Any]]
    ) -> NDArray[np.int64]:
        """The best of all nodes but the end, its partner and its known neighbours."""
        indptr, indices = known
        barred = np.zeros(self.nodes, dtype=np.bool_)
        barred[[end, other, *indices[indptr[end] : indptr[end + 1]]]] = True
        rows = [self._resources(end), self._pagerank(end)]
        if self.features is not None:
            rows.append(self._cosines(end))
        for row in rows:
            row[barred] = -1
        nothing = np.all([row == 0 for row in rows], axis=0)
        for row in rows:
            to_ranks(row)
        room = min(self.count, self.nodes - int(nothing.sum()) - int(barred.sum()))
        best = torch.from_numpy(-np.min(rows, axis=0)).topk(room).indices.numpy()
        if room < self.count and not nothing.any():
            raise InputError(
                f"split.hard_negatives asks for {self.count} partners, and node {end} has {room}: "
                f"set it to {2 * room} or less"
            )
        drawn = self.random.choice(np.flatnonzero(nothing), self.count - room)
        return np.concatenate([best, drawn])

    def _resources(self, end: int) -> Floats:
        return np.asarray((self.edges[end] @ self.shared).todense(), dtype=np.float32)[0]

    def _pagerank(self, end: int) -> Floats:
        from maskgae.kernels.push import push_pagerank

        kept, left = np.zeros((2, self.nodes))
        queue, waits = np.empty(self.nodes, np.int64), np.zeros(self.nodes, np.bool_)
        push_pagerank(*self.rows, end, TELEPORT, TOLERANCE, kept, left, queue, waits)
        return kept.astype(np.float32)

    def _cosines(self, end: int) -> Floats:
        if end not in self.cosines:
            assert self.features is not None
            own = self.features.rows(torch.tensor([end])).dense()
            self.cosines[end] = self.features.linear(own.T.contiguous())[:, 0].numpy()
        return self.cosines[end]


def to_ranks(row: Floats) -> None:
    """Overwrites scores by ranks: the highest is 1, zeros come next, what is below zero last.

    >>> row = np.array([0.5, 0.9, 0.0, 0.5, -1.0], dtype=np.float32)
    >>> to_ranks(row)
    >>> row.tolist()
    [3.0, 1.0, 4.0, 3.0, 5.0]
    """
    above, zero = row > 0, row == 0
    scores = row[above]
    lower = np.searchsorted(np.sort(scores), scores)
    ranks = lower.max(initial=0) - lower + 1
    last = ranks.max(initial=0)
    row[above], row[zero], row[~(above | zero)] = ranks, last + 1, last + 2
