r"""Rules that know which way edges go: see :mod:`maskgae.evaluation.rules`.

With targets :math:`O(u)` and sources :math:`I(u)` of a node's edges, :math:`d` counting both, the
pair :math:`u \to v` scores

====================  ====================================================================
in_degree             :math:`|I(v)|`
out_degree            :math:`|O(u)|`
level_gap             :math:`s_v - s_u`, see :mod:`maskgae.data.directions`
forward_paths         :math:`\sum 1 / d_w` over :math:`u \to w \to v`
shared_targets        :math:`\sum 1 / d_w` over :math:`u \to w \leftarrow v`
shared_sources        :math:`\sum 1 / d_w` over :math:`u \leftarrow w \to v`
directed_three_steps  :math:`\sum 1 / (|I(a)| |O(b)|)` over :math:`u \to a \leftarrow b \to v`
====================  ====================================================================

Of an edge, the degrees are one less and the paths of three steps along it do not count, which are
those with :math:`b = u` and those with :math:`a = v`; levels stay as they are.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.sizes import CHUNK_ENTRIES, spans
from maskgae.data.directions import Arcs, matrix
from maskgae.data.graph import Graph
from maskgae.evaluation.count_rules import Floats, Scores

#: What a rule of the graph is called in the graph whose edges are turned round.
TURNED = {
    "in_degree": "out_degree",
    "out_degree": "in_degree",
    "shared_targets": "shared_sources",
    "shared_sources": "shared_targets",
}


class Directed:
    """Degrees, levels and paths that tell a source from a target.

    Args:
        graph: the message graph.
        arcs: its edges, as they go or turned round; as they go where it is ``None``.
    """

    names: tuple[str, ...] = (
        "in_degree",
        "out_degree",
        "level_gap",
        "forward_paths",
        "shared_targets",
        "shared_sources",
        "directed_three_steps",
    )

    def __init__(self, graph: Graph, arcs: Arcs | None = None) -> None:
        self.graph, self.arcs = graph, arcs or graph.arcs
        self.out, self.into = (matrix(csr) for csr in (self.arcs.out, self.arcs.into))
        self.out_degree, self.in_degree = self.arcs.degrees
        self.worth = 1 / np.maximum(self.out_degree + self.in_degree, 1)
        self.leave_back = 1 / np.maximum(self.in_degree, 1)
        self.leave = 1 / np.maximum(self.out_degree, 1)

    @cached_property
    def mirror(self) -> Directed:
        return Directed(self.graph, self.arcs.reversed())

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        along = self.graph.has(pairs).numpy().astype(np.float64)
        u, v = pairs.numpy()
        levels, worth = self.arcs.levels, sp.diags_array(self.worth)
        three = self._three(u, v)
        back = self._back[u] * self.leave[u] + self._ahead[v] * self.leave_back[v]
        back -= self.leave[u] * self.leave_back[v]
        return {
            "in_degree": self.in_degree[v] - along,
            "out_degree": self.out_degree[u] - along,
            "level_gap": levels[v] - levels[u],
            "forward_paths": _products(self.out @ worth, u, self.into, v),
            "shared_targets": _products(self.out @ worth, u, self.out, v),
            "shared_sources": _products(self.into @ worth, u, self.into, v),
            "directed_three_steps": np.maximum(three - along * back, 0),
        }

    def rows(self, nodes: Tensor, incoming: bool = False) -> Scores:
        if incoming:
            found = self.mirror.rows(nodes)
            return {name: found[TURNED.get(name, name)] for name in self.names}
        asked, levels = nodes.numpy(), self.arcs.levels
        shape = (asked.size, self.graph.num_nodes)
        out, into = self.out[asked], self.into[asked]
        two = np.asarray(((out * self.leave_back).tocsr() @ self.into).toarray()) * self.leave
        weighed = (out * self.worth).tocsr()
        return {
            "in_degree": np.broadcast_to(self.in_degree, shape).copy(),
            "out_degree": np.broadcast_to(self.out_degree[asked][:, None], shape).copy(),
            "level_gap": levels[None, :] - levels[asked][:, None],
            "forward_paths": (weighed @ self.out).toarray(),
            "shared_targets": (weighed @ self.into).toarray(),
            "shared_sources": ((into * self.worth).tocsr() @ self.out).toarray(),
            "directed_three_steps": np.asarray((self.into @ two.T).T),
        }

    @cached_property
    def _back(self) -> Floats:
        r""":math:`\sum_{a \in O(x)} 1 / |I(a)|`, ``[N]``."""
        return np.asarray(self.out @ self.leave_back)

    @cached_property
    def _ahead(self) -> Floats:
        r""":math:`\sum_{b \in I(x)} 1 / |O(b)|`, ``[N]``."""
        return np.asarray(self.into @ self.leave)

    def _three(self, u: NDArray[np.int64], v: NDArray[np.int64]) -> Floats:
        """Paths of three steps of some pairs, walked from each source once, ``[P], [P] -> [P]``."""
        sources, place = np.unique(u, return_inverse=True)
        order = np.argsort(place, kind="stable")
        bounds = np.searchsorted(place[order], np.arange(sources.size + 1))
        work = np.asarray(self.out[sources] @ self.in_degree)
        sums = np.empty(u.size)
        for part in spans(work, CHUNK_ENTRIES):
            first = (self.out[sources[part]] * self.leave_back).tocsr()
            two = ((first @ self.into) * self.leave).tocsr()
            own = order[bounds[part.start] : bounds[part.stop]]
            sums[own] = _products(two, place[own] - part.start, self.into, v[own])
        return sums


def _products(
    one: sp.csr_array, u: NDArray[np.int64], other: sp.csr_array, v: NDArray[np.int64]
) -> Floats:
    """Inner products of rows of two matrices, ``[P], [P] -> [P]``."""
    out = np.empty(u.size)
    entries = np.diff(one.indptr)[u] + np.diff(other.indptr)[v]
    for chunk in spans(entries, CHUNK_ENTRIES):
        out[chunk] = one[u[chunk]].multiply(other[v[chunk]]).sum(axis=1)
    return out
