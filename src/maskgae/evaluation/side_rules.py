r"""Rules between two sides, as users and items: see :mod:`maskgae.evaluation.rules`.

With the normalised adjacency of the two sides :math:`B = D_1^{-1/2} A D_2^{-1/2}` and its best
approximation :math:`U \Sigma V^\top` of rank :data:`RANK` at most, :math:`u` on the first side and
:math:`v` on the second score

==================  ======================================================================
first_side_degree   :math:`d_u`
second_side_degree  :math:`d_v`
filtered_paths      :math:`\max(0, (B B^\top B)_{uv} + \beta (U \Sigma V^\top)_{uv})`
==================  ======================================================================

Degrees stand apart, since what makes an item popular says nothing of users. The paths of three
steps are local, the low rank is what whole regions of the graph have in common; their sum is a
filter that lets smooth signals pass (GF-CF, Shen et al., 2021). Of an edge, the degrees are one
less, the paths are counted without it, and from the low rank goes its own projection,
:math:`B_{uv} |U_u|^2 |V_v|^2`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.rng import stream
from maskgae.data.graph import Graph
from maskgae.evaluation.count_rules import Floats, Scores, ThreeSteps, compressed

#: Singular vectors, and the share of a side's nodes that they are at most.
RANK, SHARE = 256, 8
#: What the low rank counts beside the paths of three steps: of 0.1 to 1, chosen on validation edges
#: of Gowalla.
BETA = 0.4
#: Times that the matrix is applied to random vectors, and vectors beyond those that are kept.
POWERS, MORE = 4, 16

Vectors = NDArray[np.float32]


def two_sides(graph: Graph) -> bool:
    """Whether a graph joins two types of nodes, and none with its own."""
    return graph.types is not None and graph.types.count == 2 and not graph.types.triangles


class Sides(ThreeSteps):
    """Degrees of either side, paths of three steps, and these with the low rank."""

    names: tuple[str, ...] = (
        "three_steps",
        "first_side_degree",
        "second_side_degree",
        "filtered_paths",
    )

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        assert graph.types is not None
        self.second = (graph.types.codes == 1).numpy()
        self.counts = graph.degrees.numpy().astype(np.float64)

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        paths = super().pairs(pairs, edge)["three_steps"]
        u, v = pairs.numpy()
        turned = self.second[u]
        low = np.einsum("pk,pk->p", self.vectors[u], self.vectors[v]).astype(np.float64)
        own = self.lengths[u] * self.lengths[v] / np.sqrt(np.maximum(self.counts[u], 1))
        low -= edge * own / np.sqrt(np.maximum(self.counts[v], 1))
        return {
            "three_steps": paths,
            "first_side_degree": self.counts[np.where(turned, v, u)] - edge,
            "second_side_degree": self.counts[np.where(turned, u, v)] - edge,
            "filtered_paths": np.maximum(paths + BETA * low, 0),
        }

    def rows(self, nodes: Tensor) -> Scores:
        asked, paths = nodes.numpy(), self._paths(nodes)
        low = self.vectors[asked] @ self.vectors.T
        degrees = self.counts.astype(np.float32)
        own, others = degrees[asked][:, None], np.broadcast_to(degrees, low.shape)
        turned = self.second[asked][:, None]
        return {
            "three_steps": paths,
            "first_side_degree": np.where(turned, others, own),
            "second_side_degree": np.where(turned, own, others),
            "filtered_paths": np.maximum(paths + np.float32(BETA) * low, 0),
        }

    def _paths(self, nodes: Tensor) -> Vectors:
        """Paths of three steps from few nodes, which touch few entries, ``[n] -> [n, N]``."""
        from maskgae.kernels.neighbours import add_step

        rows, root = compressed(self.csr), np.sqrt(np.maximum(self.counts, 1))
        at = np.zeros((nodes.numel(), self.counts.size))
        at[np.arange(nodes.numel()), nodes.numpy()] = 1 / root[nodes.numpy()]
        for worth in (np.ones_like(root), self.leave.numpy(), self.leave.numpy()):
            at, before = np.zeros_like(at), at
            add_step(*rows, worth, before, at)
        return (at / root).astype(np.float32)

    @cached_property
    def vectors(self) -> Vectors:
        r""":math:`U \Sigma^{1/2}` and :math:`V \Sigma^{1/2}` in the rows of their nodes."""
        return self._decomposed[0]

    @cached_property
    def lengths(self) -> Floats:
        """The squared length of each node's singular vector, ``[N]``."""
        return self._decomposed[1]

    @cached_property
    def _decomposed(self) -> tuple[Vectors, Floats]:
        one, two = np.flatnonzero(~self.second), np.flatnonzero(self.second)
        step = self.step
        assert step.values is not None
        arrays = (step.values.numpy(), step.indices.numpy(), step.indptr.numpy())
        whole = sp.csr_array(arrays, shape=(step.num_rows, step.num_columns))
        u, s, v = leading_vectors(sp.csr_array(whole[one][:, two]))
        vectors = np.zeros((self.counts.size, s.size), dtype=np.float32)
        lengths = np.zeros(self.counts.size)
        for nodes, part in ((one, u), (two, v)):
            vectors[nodes] = part * np.sqrt(s)
            lengths[nodes] = np.square(part, dtype=np.float64).sum(1)
        return vectors, lengths


def leading_vectors(matrix: sp.csr_array) -> tuple[Vectors, Vectors, Vectors]:
    """Leading singular vectors and values by random projections, ``[n, m] -> [n, k], [k], [m, k]``.

    >>> u, s, v = leading_vectors(sp.csr_array(np.ones((20, 30), dtype=np.float32)))
    >>> round(float(s[0]), 3), u.shape, v.shape
    (24.495, (20, 2), (30, 2))
    """
    rank = min(RANK, max(1, min(matrix.shape) // SHARE))
    width = min(rank + MORE, *matrix.shape)
    random = stream(0, "rules", "sides").numpy()
    basis = random.standard_normal((matrix.shape[1], width)).astype(np.float32)
    for _ in range(POWERS):
        basis = _orthonormal(matrix.T @ _orthonormal(matrix @ basis))
    left = _orthonormal(matrix @ basis)
    # [width, m]
    small = (matrix.T @ left).T
    u, s, v = np.linalg.svd(small, full_matrices=False)
    return (left @ u)[:, :rank], s[:rank], v[:rank].T


def _orthonormal(table: Vectors) -> Vectors:
    found: Vectors = torch.linalg.qr(torch.from_numpy(table))[0].numpy()
    return found
