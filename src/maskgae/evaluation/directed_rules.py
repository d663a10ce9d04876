r"""Rules that know which way edges go: see :mod:`maskgae.evaluation.rules`.

With targets :math:`O(u)` and sources :math:`I(u)` of a node's edges, :math:`d` counting both, the
pair :math:`u \to v` scores

====================  ====================================================================
in_degree             :math:`|I(v)|`
out_degree            :math:`|O(u)|`
source_in_degree      :math:`|I(u)|`
target_out_degree     :math:`|O(v)|`
level_gap             :math:`s_v - s_u`, see :mod:`maskgae.data.directions`
upstream              :math:`\max(0, s_u - s_v)`, how far the pair goes against the flow
forward_paths         :math:`\sum 1 / d_w` over :math:`u \to w \to v`
backward_paths        :math:`\sum 1 / d_w` over :math:`v \to w \to u`
shared_targets        :math:`\sum 1 / d_w` over :math:`u \to w \leftarrow v`
shared_sources        :math:`\sum 1 / d_w` over :math:`u \leftarrow w \to v`
directed_three_steps  :math:`\sum 1 / (|I(a)| |O(b)|)` over :math:`u \to a \leftarrow b \to v`
turned_three_steps    the same over :math:`v \to a \leftarrow b \to u`
====================  ====================================================================

so that whatever tells a pair from its reverse stands there for both: what speaks for :math:`u \to
v` and what speaks for :math:`v \to u` are weighed apart. The gap of levels has a weight on either
side of zero: a partner need not lie far downstream to be likely, but is hardly ever upstream. Of an
edge, the degrees are one less and the paths of three steps along it do not count, which are those
with :math:`b = u` and those with :math:`a = v`; no path of the reverse goes along it, and levels
stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from maskgae.data.csr import CSR
from maskgae.data.directions import Arcs
from maskgae.data.graph import Graph
from maskgae.evaluation.count_rules import Floats, Scores, compressed

#: What a rule of the graph is called in the graph whose edges are turned round.
TURNED = {
    "in_degree": "out_degree",
    "out_degree": "in_degree",
    "source_in_degree": "target_out_degree",
    "target_out_degree": "source_in_degree",
    "shared_targets": "shared_sources",
    "shared_sources": "shared_targets",
}
#: Those that count paths.
PATHS = (
    "forward_paths",
    "backward_paths",
    "shared_targets",
    "shared_sources",
    "directed_three_steps",
    "turned_three_steps",
)
#: What speaks for the reverse of a pair: weighed with the others, and no rule to go by alone.
OF_REVERSE = (
    "source_in_degree",
    "target_out_degree",
    "upstream",
    "backward_paths",
    "turned_three_steps",
)

Integers = NDArray[np.int64]


class Directed:
    """Degrees, levels and paths that tell a source from a target.

    Args:
        graph: the message graph.
        names: which of the rules.
        arcs: its edges, as they go or turned round; as they go where it is ``None``.
    """

    names: tuple[str, ...] = (
        "in_degree",
        "out_degree",
        "source_in_degree",
        "target_out_degree",
        "level_gap",
        "upstream",
        *PATHS,
    )

    def __init__(
        self, graph: Graph, names: Sequence[str] | None = None, arcs: Arcs | None = None
    ) -> None:
        self.graph, self.arcs = graph, arcs or graph.arcs
        self.asked = self.names if names is None else tuple(n for n in self.names if n in names)
        self.out_degree, self.in_degree = self.arcs.degrees
        self.worth = 1 / np.maximum(self.out_degree + self.in_degree, 1)
        self.leave_back = 1 / np.maximum(self.in_degree, 1)
        self.leave = 1 / np.maximum(self.out_degree, 1)

    @cached_property
    def mirror(self) -> Directed:
        names = [TURNED.get(name, name) for name in self.asked]
        return Directed(self.graph, names, self.arcs.reversed())

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        along = self.graph.has(pairs).numpy().astype(np.float64)
        u, v = pairs.numpy()
        out, into = self.arcs.out, self.arcs.into
        rules: dict[str, Callable[[], Floats]] = {
            "in_degree": lambda: self.in_degree[v] - along,
            "out_degree": lambda: self.out_degree[u] - along,
            "source_in_degree": lambda: self.in_degree[u],
            "target_out_degree": lambda: self.out_degree[v],
            "level_gap": lambda: self.arcs.levels[v] - self.arcs.levels[u],
            "upstream": lambda: np.maximum(self.arcs.levels[u] - self.arcs.levels[v], 0),
            "forward_paths": lambda: self._shared(out, u, into, v),
            "backward_paths": lambda: self._shared(into, u, out, v),
            "shared_targets": lambda: self._shared(out, u, out, v),
            "shared_sources": lambda: self._shared(into, u, into, v),
            "directed_three_steps": lambda: self._three(u, v, along),
            "turned_three_steps": lambda: self._three(v, u, 0 * along),
        }
        return {name: rules[name]() for name in self.asked}

    def rows(self, nodes: Tensor, incoming: bool = False) -> Scores:
        if incoming:
            found = self.mirror.rows(nodes)
            return {name: found[TURNED.get(name, name)] for name in self.asked}
        asked, shape = nodes.numpy(), (nodes.numel(), self.graph.num_nodes)
        here = np.zeros(shape)
        here[np.arange(asked.size), asked] = 1
        even = np.ones(self.graph.num_nodes)
        # [n, N]: the targets and the sources of each node
        ahead, back = self._step(False, even, here), self._step(True, even, here)

        def constant(values: Floats) -> Floats:
            return np.repeat(values[asked][:, None], shape[1], axis=1)

        def same(values: Floats) -> Floats:
            return np.repeat(values[None], shape[0], axis=0)

        worth, levels = self.worth, self.arcs.levels
        rules: dict[str, Callable[[], Floats]] = {
            "in_degree": lambda: same(self.in_degree),
            "out_degree": lambda: constant(self.out_degree),
            "source_in_degree": lambda: constant(self.in_degree),
            "target_out_degree": lambda: same(self.out_degree),
            "level_gap": lambda: levels[None, :] - levels[asked][:, None],
            "upstream": lambda: np.maximum(levels[asked][:, None] - levels[None, :], 0),
            "forward_paths": lambda: self._step(False, worth, ahead),
            "backward_paths": lambda: self._step(True, worth, back),
            "shared_targets": lambda: self._step(True, worth, ahead),
            "shared_sources": lambda: self._step(False, worth, back),
            "directed_three_steps": lambda: self._step(
                False, self.leave, self._step(True, self.leave_back, ahead)
            ),
            "turned_three_steps": lambda: self._step(
                True, self.leave_back, self._step(False, self.leave, back)
            ),
        }
        return {name: rules[name]() for name in self.asked}

    def _step(self, incoming: bool, worth: Floats, at: Floats) -> Floats:
        """One step along edges or against them, ``[N], [n, N] -> [n, N]``."""
        from maskgae.kernels.neighbours import add_step

        out = np.zeros_like(at)
        add_step(*compressed(self.arcs.way(incoming)), worth, at, out)
        return out

    def _shared(self, one: CSR, u: Integers, other: CSR, v: Integers) -> Floats:
        """The worth of what two rows share, ``[P], [P] -> [P]``."""
        from maskgae.kernels.compiled import in_threads
        from maskgae.kernels.neighbours import shared_worth

        out, rows = np.empty(u.size), (*compressed(one), *compressed(other))
        in_threads(
            lambda part: shared_worth(*rows, self.worth, u[part], v[part], out[part]), u.size
        )
        return out

    @cached_property
    def _back(self) -> Floats:
        r""":math:`\sum_{a \in O(x)} 1 / |I(a)|`, ``[N]``."""
        return _sums(self.arcs.out, self.leave_back)

    @cached_property
    def _ahead(self) -> Floats:
        r""":math:`\sum_{b \in I(x)} 1 / |O(b)|`, ``[N]``."""
        return _sums(self.arcs.into, self.leave)

    def _three(self, u: Integers, v: Integers, along: Floats) -> Floats:
        """Paths of three steps of some pairs, walked from each source once, ``[P], [P] -> [P]``."""
        from maskgae.kernels.compiled import in_threads
        from maskgae.kernels.neighbours import three_steps

        order = np.argsort(u, kind="stable")
        start, end, found = u[order], v[order], np.empty(u.size)
        out, into = compressed(self.arcs.out), compressed(self.arcs.into)
        weights = self.leave_back, self.leave
        in_threads(
            lambda part: three_steps(
                out, into, into, *weights, start[part], end[part], found[part]
            ),
            u.size,
        )
        sums = np.empty(u.size)
        sums[order] = found
        back = self._back[u] * self.leave[u] + self._ahead[v] * self.leave_back[v]
        back -= self.leave[u] * self.leave_back[v]
        return np.maximum(sums - along * back, 0)


def _sums(csr: CSR, values: Floats) -> Floats:
    """What lies on the columns of each row together, ``[N] -> [N]``."""
    rows, weights = csr.row_of_entry().numpy(), values[csr.indices.numpy()]
    return np.bincount(rows, weights, minlength=csr.num_rows).astype(np.float64)
