r"""ProNE (Zhang et al., IJCAI 2019): factorise the edges, then filter what came out.

With :math:`p_{ij} = A_{ij} / d_i` and :math:`q_j \propto (\sum_i p_{ij})^{0.75}`, a truncated SVD
factorises :math:`M_{ij} = \ln p_{ij} - \ln q_j` over the edges into :math:`R = U \Sigma^{1/2}`.
The Laplacian :math:`L = I - D^{-1} A` of the graph with loops is then put through a Gaussian
kernel, :math:`g(\lambda) = \exp(-\theta (\tfrac12 (\lambda - \mu)^2 - 1))`, as a sum of Chebyshev
polynomials whose coefficients are Bessel functions,

.. math::

    e^{-\theta x} = I_0(\theta) + 2 \sum_{i \ge 1} (-1)^i I_i(\theta) T_i(x), \qquad
    x = \tfrac12 (L - \mu I)^2 - I,

and :math:`\hat A H` with :math:`H = R - g(L) R`, orthogonalised by an SVD, is the embedding, rows
scaled to length one. A row is a sum over neighbours, :math:`\hat A = A + I`: for an edge
:math:`(u, v)`, :math:`h_v` leaves the row of :math:`u`, while what was filtered before stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maskgae.base.rng import Stream
from maskgae.data.graph import Graph

#: The paper's settings: the kernel's centre and width, the terms of the series, the exponent.
MU, THETA, ORDER, EXPONENT = 0.2, 0.5, 10, 0.75

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ProNE:
    """The embedding of a graph's nodes, as sums over neighbours.

    Args:
        sums: rows of the embedding before they are scaled.
        own: what a node adds to its neighbours' rows, and to its own.

    Shapes:
        - **sums**, **own:** ``[N, columns]``
    """

    sums: Floats
    own: Floats

    @classmethod
    def of(cls, graph: Graph, columns: int, stream: Stream) -> ProNE:
        """Of the edges alone, whatever their weights."""
        if graph.num_nodes < 2 or not graph.num_pairs:
            nothing = np.zeros((graph.num_nodes, 1), dtype=np.float32)
            return cls(nothing, nothing)
        adjacency = sp.csr_array(graph.to_scipy() != 0).astype(np.float32)
        first = factorised(_log_ratio(adjacency), columns, stream.at("factorise"))
        looped = adjacency + sp.eye_array(graph.num_nodes, dtype=np.float32, format="csr")
        own = _filtered(looped, first)
        sums = looped @ own
        _, values, right = np.linalg.svd(sums, full_matrices=False)
        kept = values > values.max(initial=0) * 1e-6
        scale = np.divide(1, np.sqrt(values), out=np.zeros_like(values), where=kept)
        turned = (right.T * scale).astype(np.float32)
        return cls(sums @ turned, own @ turned)

    @property
    def embedding(self) -> Floats:
        """Rows of length one, of zeros where a node has no edges."""
        lengths = np.linalg.norm(self.sums, axis=1, keepdims=True)
        return np.asarray(self.sums / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def factorised(matrix: Any, columns: int, stream: Stream) -> Floats:
    r""":math:`U \Sigma^{1/2}` of a truncated SVD, ``[N, columns]``."""
    from sklearn.utils.extmath import randomized_svd

    columns = min(columns, min(matrix.shape) - 1)
    seed = stream.key % 2**32
    left, values, _ = randomized_svd(matrix, columns, n_iter=5, random_state=seed)
    return np.asarray(left * np.sqrt(values), dtype=np.float32)


def _log_ratio(adjacency: sp.csr_array) -> sp.csr_array:
    """``M`` over the edges; both directions of a pair are edges of their own."""
    share = _by_row(adjacency)
    reached = np.asarray(share.sum(axis=0)).reshape(-1) ** EXPONENT
    share.data = np.log(share.data) - np.log((reached / reached.sum())[share.indices])
    return share


def _filtered(looped: sp.csr_array, first: Floats) -> Floats:
    r""":math:`R - g(L) R`"""
    from scipy.special import iv

    one = sp.eye_array(looped.shape[0], dtype=np.float32, format="csr")
    shifted = (1 - MU) * one - _by_row(looped)  # L - mu I

    def x(vectors: Floats) -> Floats:
        return np.asarray(0.5 * (shifted @ (shifted @ vectors)) - vectors)

    # T_0 and T_1 of x, times what is filtered.
    before, now = first, x(first)
    kept = iv(0, THETA) * before
    for i in range(1, ORDER):
        kept += 2 * (-1) ** i * iv(i, THETA) * now
        before, now = now, 2 * x(now) - before
    return first - kept.astype(np.float32)


def _by_row(matrix: sp.csr_array) -> sp.csr_array:
    """Rows that add up to one, where they have any entry."""
    sums = np.asarray(matrix.sum(axis=1)).reshape(-1)
    return sp.csr_array(sp.diags_array(1 / np.maximum(sums, 1)) @ matrix).astype(np.float32)
