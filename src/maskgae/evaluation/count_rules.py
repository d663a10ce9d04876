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
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.data.csr import CSR
from maskgae.data.graph import Graph
from maskgae.evaluation.hard import TELEPORT, WALK_STEPS

#: Nodes from which walks are followed together, so that a step stays in the cache.
TOGETHER = 64
#: Rows that are worth a thread of their own.
SHARED_ROWS = 8

Floats = NDArray[np.float64]
Scores = dict[str, NDArray[Any]]


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
        self.rows_of = compressed(graph.structure.csr)
        self.degrees = graph.degrees.numpy().astype(np.float64)
        # The worth of a common neighbour; those have two neighbours at least.
        several = np.maximum(self.degrees, 2)
        self.worth = np.stack([np.ones_like(several), 1 / np.log(several), 1 / several], axis=1)

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        from maskgae.kernels.compiled import in_threads
        from maskgae.kernels.neighbours import add_shared

        u, v = pairs.numpy()
        common = np.zeros((u.size, self.worth.shape[1]))
        in_threads(
            lambda part: add_shared(*self.rows_of, self.worth, u[part], v[part], common[part]),
            u.size,
        )
        return self._named(common.T, self.degrees[u] - edge, self.degrees[v] - edge)

    def rows(self, nodes: Tensor) -> Scores:
        from maskgae.kernels.compiled import in_threads
        from maskgae.kernels.neighbours import add_two_steps

        ends = nodes.numpy()
        common = np.zeros((self.worth.shape[1], ends.size, self.degrees.size), dtype=np.float32)
        in_threads(
            lambda part: add_two_steps(*self.rows_of, self.worth, ends[part], common[:, part]),
            ends.size,
            least=SHARED_ROWS,
        )
        one, other = self.degrees[ends][:, None], self.degrees
        return self._named(common, one, other, np.float32)

    def _named(self, common: Any, one: Floats, other: Floats, dtype: Any = np.float64) -> Scores:
        gap = np.abs(np.log1p(one) - np.log1p(other))
        last = [part.astype(dtype) for part in (one * other, gap)]
        return dict(zip(self.names, [*common, *last], strict=True))


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

    @cached_property
    def step(self) -> CSR:
        return normalized(self.graph)

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
        parts = []
        for some in nodes.split(TOGETHER):
            at = here(some, self.graph.num_nodes)
            for _ in range(3):
                at = self.step.matmul(at)
            parts.append(at.T)
        return {"three_steps": torch.cat(parts).numpy()}

    def _sums(self, pairs: Tensor) -> Tensor:
        r""":math:`\sum 1 / (d_a d_b)` over the paths :math:`u a b v`, ``[2, P] -> [P]``."""
        from maskgae.kernels.compiled import in_threads
        from maskgae.kernels.neighbours import three_steps

        start, end = self._cheapest(pairs)
        order = start.argsort(stable=True)
        first, last = start[order].numpy(), end[order].numpy()
        found, rows, leave = np.empty(order.numel()), compressed(self.csr), self.leave.numpy()
        in_threads(
            lambda part: three_steps(
                rows, rows, rows, leave, leave, first[part], last[part], found[part]
            ),
            order.numel(),
        )
        sums = torch.empty(order.numel(), dtype=torch.double)
        sums[order] = torch.from_numpy(found)
        return sums

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
    r"""Walks of any length, ever rarer; for an edge without the walk of one step along it.

    By Horner's rule: from :math:`y = e_u` on, as often as a walk has steps,
    :math:`y \leftarrow e_u + (1 - \alpha) S y`.
    """

    names: tuple[str, ...] = ("pagerank",)

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.root = graph.degrees.clamp(min=1).double().sqrt().numpy()

    @cached_property
    def step(self) -> CSR:
        return normalized(self.graph, 1 - TELEPORT)

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        start, end = (
            pairs if pairs[0].unique().numel() <= pairs[1].unique().numel() else pairs.flip(0)
        )
        order = start.argsort(stable=True)
        sources, counts = torch.unique_consecutive(start[order], return_counts=True)
        lane = torch.repeat_interleave(torch.arange(sources.numel()) % TOGETHER, counts)
        scores, done = torch.empty(order.numel()), 0
        for some, share in zip(sources.split(TOGETHER), counts.split(TOGETHER), strict=True):
            part = slice(done, done + int(share.sum()))
            scores[order[part]] = self._columns(some)[end[order[part]], lane[part]]
            done = part.stop
        u, v = pairs.numpy()
        direct = TELEPORT * (1 - TELEPORT) * edge / (self.root[u] * self.root[v])
        return {"pagerank": np.maximum(scores.double().numpy() - direct, 0)}

    def rows(self, nodes: Tensor) -> Scores:
        parts = [self._columns(some).T for some in nodes.split(TOGETHER)]
        return {"pagerank": torch.cat(parts).numpy()}

    def _columns(self, nodes: Tensor) -> Tensor:
        """``[n] -> [N, n]``"""
        at, own = here(nodes, self.graph.num_nodes), torch.arange(nodes.numel())
        for _ in range(WALK_STEPS):
            at = self.step.matmul(at)
            at[nodes, own] += 1
        return at.mul_(TELEPORT)


def compressed(csr: CSR) -> tuple[NDArray[Any], NDArray[Any]]:
    """The rows as compiled loops read them."""
    return csr.indptr.numpy(), csr.indices.numpy()


def normalized(graph: Graph, factor: float = 1.0) -> CSR:
    r""":math:`S = D^{-1/2} A D^{-1/2}`, times a factor."""
    csr, scale = graph.structure.csr, graph.degrees.clamp(min=1).double().rsqrt()
    values = scale[csr.row_of_entry()] * scale[csr.indices] * factor
    return CSR(csr.indptr, csr.indices, csr.num_columns, values.float())


def here(nodes: Tensor, num_nodes: int) -> Tensor:
    """A one for each node in a column of its own, ``[n] -> [N, n]``."""
    at = torch.zeros(num_nodes, nodes.numel())
    at[nodes, torch.arange(nodes.numel())] = 1
    return at
