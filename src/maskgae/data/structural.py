r"""Features for graphs that have none, computed from their own edges.

A node gets :math:`[\log(1 + d),\ \tilde a V |\Lambda|^{-1/2}]`, with its degree :math:`d`, its row
:math:`\tilde a` of the normalised adjacency :math:`D^{-1/2} A D^{-1/2}`, and that matrix's leading
eigenvectors :math:`V` and eigenvalues :math:`\Lambda`. The basis :math:`V |\Lambda|^{-1/2}` is
kept, so that a node that comes later is projected on it by its edges to the nodes that were there.

A change of the edges is magnified by :math:`1 / |\lambda|` in units of a column's spread, so
eigenvalues near zero, which a graph of few hubs is full of, are left out.

Fit it on training edges only: otherwise the features give away what is held out.
"""

from __future__ import annotations

from contextlib import suppress
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
#: Nodes up to which eigenvectors are solved for, restarts after which that is given up, and the
#: steps of subspace iteration that are taken instead.
SOLVED_NODES, RESTARTS, STEPS = 2_000, 100, 20


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
        """Fits ``width`` columns at most: the degree and ``width - 1`` eigenvectors.

        >>> from maskgae.base.rng import stream
        >>> ring = Graph.from_edges([(i, (i + 1) % 12) for i in range(12)])
        >>> StructuralFeatures.fit(ring, 4, stream(0)).transform(ring)
        DenseFeatures(12, 4)
        """
        degrees = graph.degrees.numpy().astype(np.float32)
        matrix = normalized_adjacency(graph)
        rank = max(1, min(width - 1, graph.num_nodes - 2))
        random = stream.numpy()
        start = random.standard_normal(graph.num_nodes).astype(np.float32)
        values, vectors = _leading(graph, matrix, rank, start, random)
        size = np.abs(values)
        order = np.argsort(-size)[: max(1, np.count_nonzero(size > LEAST * size.max()))]
        size, vectors = size[order], vectors[:, order]
        # The sign of an eigenvector is arbitrary; fix it so that equal graphs agree.
        largest = np.abs(vectors).argmax(0)
        vectors *= np.where(vectors[largest, np.arange(order.size)] < 0, -1, 1)
        basis = (vectors / np.sqrt(size)).astype(np.float32)
        raw = _columns(matrix, basis, degrees)
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


def _leading(
    graph: Graph,
    matrix: sp.csr_array,
    rank: int,
    start: NDArray[np.float32],
    random: np.random.Generator,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The leading eigenvalues and eigenvectors, in bounded time.

    Those of a long path or grid lie so close together that a solver goes on for minutes. On large
    graphs, and where it has not converged, some steps of subspace iteration take its place.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    if graph.num_nodes <= SOLVED_NODES:
        with suppress(ArpackNoConvergence):
            # It draws again where it has found an invariant subspace: from our stream too.
            values, vectors = eigsh(matrix, k=rank, v0=start, rng=random, maxiter=RESTARTS)
            return values, vectors
    scale = graph.degrees.clamp(min=1).float().rsqrt().unsqueeze(1)

    def product(block: Tensor) -> Tensor:
        return graph.structure.csr.matmul(scale * block) * scale

    block = torch.from_numpy(random.standard_normal((graph.num_nodes, rank)).astype(np.float32))
    for _ in range(STEPS):
        block = _orthonormal(product(block))
    found, turn = torch.linalg.eigh((block.T @ product(block)).double())
    return found.numpy(), (block @ turn.float()).numpy()


def _orthonormal(block: Tensor) -> Tensor:
    """An orthonormal basis of a tall matrix's columns by their products, zero where they are few.

    >>> tall = _orthonormal(torch.tensor([[1.0, 1.0], [0.0, 2.0], [0.0, 0.0]]))
    >>> torch.allclose(tall.T @ tall, torch.eye(2))
    True
    """
    values, turn = torch.linalg.eigh((block.T @ block).double())
    length = torch.where(values > 1e-12 * values.max(), values, torch.inf).sqrt()
    return block @ (turn / length).float()


def normalized_adjacency(graph: Graph) -> sp.csr_array:
    r""":math:`D^{-1/2} A D^{-1/2}` in 32 bits, whatever the weights."""
    scale = sp.diags_array(1 / np.sqrt(np.maximum(graph.degrees.numpy().astype(np.float32), 1)))
    adjacency = sp.csr_array(graph.to_scipy() != 0).astype(np.float32)
    return (scale @ adjacency @ scale).tocsr().astype(np.float32)


def _columns(
    matrix: sp.csr_array, basis: NDArray[np.float32], degrees: NDArray[np.float32]
) -> NDArray[np.float32]:
    return np.column_stack([np.log1p(degrees), matrix @ basis]).astype(np.float32)
