r"""Rules that count walks between two nodes: see :mod:`maskgae.evaluation.rules`.

For an edge :math:`(u, v)` of the graph the walks along it do not count and the degrees of its ends
are one less. Common neighbours are other nodes than the ends, so their three sums are not touched.
Of the paths of three steps, with :math:`q_x = \sum_{b \in \Gamma(x)} 1 / d_b`, those along the
edge are exactly :math:`u v b v`, :math:`u a u v` and, in both kinds, :math:`u v u v`:

.. math::

    \sum_{a \in \Gamma(u) \setminus v,\, b \in \Gamma(v) \setminus u,\, a \sim b}
    \frac{1}{d_a d_b} = \sum_{a, b} \frac{1}{d_a d_b}
    - \frac{q_v}{d_v} - \frac{q_u}{d_u} + \frac{1}{d_u d_v}.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.sizes import CHUNK_ENTRIES, spans
from maskgae.data.graph import Graph
from maskgae.evaluation.hard import TELEPORT, walks

#: Walks of two steps that are laid out at a time; so many stay in the cache.
WALKS = 2**18

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = dict[str, Floats]


class Counts:
    """Common neighbours by three worths, and the degrees of the two ends."""

    names: tuple[str, ...] = (
        "common_neighbours",
        "adamic_adar",
        "resource_allocation",
        "degree_product",
        "degree_gap",
    )

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.degrees = graph.degrees.numpy().astype(np.float64)
        # The worth of a common neighbour; those have two neighbours at least.
        several = np.maximum(self.degrees, 2)
        self.worth = np.stack([np.ones_like(several), 1 / np.log(several), 1 / several], axis=1)

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        # Only the rows of the pairs' ends are looked at.
        nodes, place = torch.unique(pairs, return_inverse=True)
        u, v = place.numpy()
        common = shared_weight(adjacency(self.graph, nodes), u, v, self.worth)
        own = self.degrees[nodes.numpy()]
        return self._named(common.T, own[u] - edge, own[v] - edge)

    def rows(self, nodes: Tensor) -> Scores:
        first, whole = adjacency(self.graph, nodes), adjacency(self.graph)
        weighed = (first * worth for worth in self.worth.T)
        common = [(part.tocsr() @ whole).toarray() for part in weighed]
        own = np.broadcast_to(self.degrees[nodes.numpy()][:, None], common[0].shape)
        return self._named(common, own, self.degrees)

    def _named(self, common: Any, one: Floats, other: Floats) -> Scores:
        gap = np.abs(np.log1p(one) - np.log1p(other))
        return dict(zip(self.names, [*common, one * other, gap], strict=True))


class ThreeSteps:
    """Paths of three steps, each node on the way weighed by one over its degree."""

    names: tuple[str, ...] = ("three_steps",)

    def __init__(self, graph: Graph) -> None:
        self.graph, self.csr = graph, graph.structure.csr
        self.degrees = graph.degrees.double()
        self.leave = 1 / self.degrees.clamp(min=1)

    @cached_property
    def reached(self) -> Tensor:
        r""":math:`q_x = \sum_{b \in \Gamma(x)} 1 / d_b`, ``[N]``."""
        return self.csr.matmul(self.leave.unsqueeze(1)).squeeze(1)

    @cached_property
    def work(self) -> Tensor:
        """Walks of two steps from each node, ``[N]``."""
        return self.csr.matmul(self.degrees.unsqueeze(1)).squeeze(1)

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        along, (u, v) = torch.from_numpy(edge), pairs
        found = self._sums(pairs)
        through = self.reached * self.leave
        back = through[u] + through[v] - self.leave[u] * self.leave[v]
        left = torch.where(along, found - back, found)
        left[left < 1e-12 * found] = 0  # what rounding leaves of nothing
        lengths = (self.degrees[u] - along.double()) * (self.degrees[v] - along.double())
        return {"three_steps": (left * lengths.clamp(min=1).rsqrt()).numpy()}

    def rows(self, nodes: Tensor) -> Scores:
        first, whole = adjacency(self.graph, nodes), adjacency(self.graph)
        leave = self.leave.numpy()
        # [N, n], where walks of two steps may stop
        two = ((first * leave).tocsr() @ whole).toarray().T * leave[:, None]
        scale = np.sqrt(leave)
        return {"three_steps": (whole @ two).T * scale[nodes.numpy()][:, None] * scale}

    def _sums(self, pairs: Tensor) -> Tensor:
        r""":math:`\sum 1 / (d_a d_b)` over the paths :math:`u a b v`, ``[2, P] -> [P]``."""
        start, end = self._cheapest(pairs)
        order = start.argsort(stable=True)
        sources, counts = torch.unique_consecutive(start[order], return_counts=True)
        load = self.work[sources] + torch.zeros_like(self.work[sources]).index_add_(
            0, torch.repeat_interleave(counts), self.degrees[end[order]]
        )
        first_of = np.concatenate([[0], np.cumsum(counts.numpy())])
        at = torch.zeros(self.graph.num_nodes, dtype=torch.double)
        sums = torch.empty(start.numel(), dtype=torch.double)
        for batch in spans(load.numpy(), WALKS):
            own = order[first_of[batch.start] : first_of[batch.stop]]
            sums[own] = self._batch(sources[batch], counts[batch], end[own], at)
        return sums

    def _batch(self, sources: Tensor, counts: Tensor, end: Tensor, at: Tensor) -> Tensor:
        """Walks two steps from each source and gathers at the neighbours of its ends.

        One source at a time fills ``at``, ``[N]`` zeros before and after, which stays in the cache.
        """
        first, near = self.csr.rows(sources), self.csr.rows(end)
        second = self.csr.rows(first.indices)
        weight = self.leave[first.indices].repeat_interleave(second.counts())
        found = self.leave[near.indices]
        walked = second.indptr[first.indptr].tolist()
        asked = near.indptr[torch.cat([counts.new_zeros(1), counts.cumsum(0)])].tolist()
        for (a, b), (low, high) in zip(pairwise(walked), pairwise(asked), strict=True):
            reached = second.indices[a:b].long()  # of a store they have 32 bits
            at.index_add_(0, reached, weight[a:b])
            found[low:high] *= at[near.indices[low:high]]
            at.index_fill_(0, reached, 0)
        sums = torch.zeros(end.numel(), dtype=torch.double)
        return sums.index_add_(0, near.row_of_entry(), found)

    def _cheapest(self, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """The ends to walk from and those to gather at: what touches the fewest entries."""
        u, v = pairs
        fewer = self.work[u] <= self.work[v]
        ways = [(u, v), (v, u), (torch.where(fewer, u, v), torch.where(fewer, v, u))]
        costs = [
            float(self.work[start.unique()].sum() + self.degrees[end].sum()) for start, end in ways
        ]
        return ways[int(np.argmin(costs))]


class PageRank:
    """Walks of any length, ever rarer; for an edge without the walk of one step along it."""

    names: tuple[str, ...] = ("pagerank",)

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.root = graph.degrees.clamp(min=1).double().sqrt().numpy()

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        sides = [torch.unique(side, return_inverse=True) for side in pairs]
        side = int(sides[1][0].numel() < sides[0][0].numel())
        sources, place = sides[side]
        scores = np.empty(pairs.shape[1])
        size = max(1, CHUNK_ENTRIES // self.graph.num_nodes)
        for start in range(0, sources.numel(), size):
            chosen = torch.nonzero((place >= start) & (place < start + size)).squeeze(1)
            rows = self.rows(sources[start : start + size])["pagerank"]
            scores[chosen] = rows[place[chosen] - start, pairs[1 - side, chosen]]
        u, v = pairs.numpy()
        direct = TELEPORT * (1 - TELEPORT) * edge / (self.root[u] * self.root[v])
        return {"pagerank": np.maximum(scores - direct, 0)}

    def rows(self, nodes: Tensor) -> Scores:
        found = walks(self.graph, nodes)[1].double().numpy()
        return {"pagerank": found * self.root[nodes.numpy()][:, None] / self.root}


def adjacency(graph: Graph, nodes: Tensor | None = None) -> sp.csr_array:
    """The ones of the given rows, ``[n, N]``; of all rows where they are ``None``."""
    csr = graph.structure.csr if nodes is None else graph.structure.csr.rows(nodes)
    arrays = (np.ones(csr.num_entries), csr.indices.numpy(), csr.indptr.numpy())
    return sp.csr_array(arrays, shape=(csr.num_rows, graph.num_nodes))


def shared_weight(matrix: sp.csr_array, u: Any, v: Any, worth: Floats) -> Floats:
    """Sum over the columns that two rows share, ``[P]`` rows each and ``[C, k] -> [P, k]``."""
    out = np.empty((u.size, worth.shape[1]))
    entries = np.diff(matrix.indptr)
    for chunk in spans(entries[u] + entries[v], CHUNK_ENTRIES):
        out[chunk] = matrix[u[chunk]].multiply(matrix[v[chunk]]) @ worth
    return out
