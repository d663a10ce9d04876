r"""Features from a graph's own edges, for graphs that have none and for whoever forgets structure.

A node gets :math:`[\log(1 + d),\ \tilde a B]`, with its degree :math:`d` and its row
:math:`\tilde a` of the normalised adjacency :math:`\tilde A = D^{-1/2} A D^{-1/2}`. The basis
:math:`B` spans the leading eigenvectors of :math:`\tilde A`. It is kept, so that a node that comes
later is projected on it by its edges to the nodes that were there.

Eigenvectors of two graphs differ by signs and turns, however few edges they differ by. So none are
looked for: from a random matrix that knows no edge, each step of the iteration

.. math::

    B \leftarrow \mathrm{polar}(\tilde A B), \qquad
    \mathrm{polar}(X) = X (X^\top X)^{-1/2}

takes the nearest matrix of orthonormal columns, a choice without a sign or an order in it. Graphs
of the same nodes that differ little get columns that differ little: they lie in one basis.

A change of the edges is magnified by :math:`1 / |\lambda|` in units of a column's spread, so
eigenvalues near zero, which a graph of few hubs is full of, are left out.

Fit it on training edges only: otherwise the features give away what is held out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.data.features import DenseFeatures
from maskgae.data.graph import Graph

#: Eigenvalues below this share of the largest are taken for none.
LEAST = 0.05
#: Steps of the iteration.
STEPS = 20


@dataclass(frozen=True, eq=False)
class StructuralFeatures:
    """What was fitted on one graph and gives features to any graph that grew from it.

    Shapes:
        - **basis:** ``[N, k]``, :math:`V |\\Lambda|^{-1/2}` by node of the fitted graph
        - **degrees:** ``[N]``, of the fitted graph
        - **scale:** ``[k + 1]``, what each column is divided by
    """

    basis: NDArray[np.float32]
    degrees: NDArray[np.float32]
    scale: NDArray[np.float32]

    @classmethod
    def fit(cls, graph: Graph, width: int, stream: Stream) -> StructuralFeatures:
        """Fits ``width`` columns: the degree and ``width - 1`` from the iteration.

        A graph of few nodes has fewer.

        >>> from maskgae.base.rng import stream
        >>> ring = Graph.from_edges([(i, (i + 1) % 12) for i in range(12)])
        >>> StructuralFeatures.fit(ring, 4, stream(0)).transform(ring)
        DenseFeatures(12, 4)
        """
        degrees = graph.degrees.numpy().astype(np.float32)
        basis = _basis(graph, max(1, min(width - 1, graph.num_nodes - 2)), stream).numpy()
        raw = _columns(normalized_adjacency(graph), basis, degrees)
        # A column that hardly varies, as the degree of a ring, is not blown up.
        scale = np.maximum(raw.std(0), 0.05 * np.abs(raw).max(0))
        return cls(basis, degrees, np.where(scale > 0, scale, 1).astype(np.float32))

    def renumbered(self, fitted: Any, known: Any, num_nodes: int) -> StructuralFeatures:
        """The same for a graph in which the nodes ``fitted`` have the numbers ``known``.

        Rows of the basis of other nodes are zero, so that those are seen by their edges to fitted
        nodes alone.
        """
        basis = np.zeros((num_nodes, self.basis.shape[1]), dtype=np.float32)
        basis[known] = self.basis[fitted]
        degrees = np.zeros(num_nodes, dtype=np.float32)
        degrees[known] = self.degrees[fitted]
        return replace(self, basis=basis, degrees=degrees)

    def transform(self, graph: Graph) -> DenseFeatures:
        """Features of the fitted graph, or of one with other edges between the same nodes."""
        degrees = graph.degrees.numpy().astype(np.float32)
        matrix = normalized_adjacency(graph)
        return DenseFeatures(torch.from_numpy(_columns(matrix, self.basis, degrees) / self.scale))


def _basis(graph: Graph, rank: int, stream: Stream) -> Tensor:
    r"""The matrix :math:`B` of ``rank`` columns for which those of :math:`\tilde A B` are
    orthonormal, ``[N, rank]``, in a time that depends on the size of the graph alone.
    """
    scale = graph.degrees.clamp(min=1).float().rsqrt().unsqueeze(1)

    def product(block: Tensor) -> Tensor:
        return graph.structure.csr.matmul(scale * block) * scale

    start = stream.numpy().standard_normal((graph.num_nodes, rank)).astype(np.float32)
    block = torch.from_numpy(start)
    for _ in range(STEPS):
        block = product(block)
        block = block @ _inverse_root(block, 1e-3)
    return block @ _inverse_root(product(block), LEAST)


def _inverse_root(block: Tensor, least: float) -> Tensor:
    r""":math:`(X^\top X)^{-1/2}` without the singular values below a share of the largest.

    >>> tall = torch.tensor([[1.0, 1.0], [0.0, 2.0], [0.0, 0.0]])
    >>> near = tall @ _inverse_root(tall, 1e-3)
    >>> torch.allclose(near.T @ near, torch.eye(2), atol=1e-6)
    True
    """
    values, turn = torch.linalg.eigh((block.T @ block).double())
    kept = values > least**2 * values.max()
    length = torch.where(kept, values, torch.inf).sqrt()
    return ((turn / length) @ turn.T).float()


def normalized_adjacency(graph: Graph) -> sp.csr_array:
    r""":math:`D^{-1/2} A D^{-1/2}` in 32 bits, whatever the weights."""
    scale = sp.diags_array(1 / np.sqrt(np.maximum(graph.degrees.numpy().astype(np.float32), 1)))
    adjacency = sp.csr_array(graph.to_scipy() != 0).astype(np.float32)
    return (scale @ adjacency @ scale).tocsr().astype(np.float32)


def _columns(
    matrix: sp.csr_array, basis: NDArray[np.float32], degrees: NDArray[np.float32]
) -> NDArray[np.float32]:
    return np.column_stack([np.log1p(degrees), matrix @ basis]).astype(np.float32)
