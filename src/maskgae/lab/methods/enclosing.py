r"""Enclosing subgraphs of pairs, as one disjoint union, and the labels of their nodes.

The subgraph of a pair :math:`(x, y)` has the nodes within :math:`h` hops of either end and all
edges between them but :math:`xy` itself. With :math:`d_x` a node's distance to :math:`x` where
:math:`y` is taken away, :math:`d_y` likewise and :math:`d = d_x + d_y`, its label (double-radius
node labelling, Zhang and Chen, NeurIPS 2018) is

.. math::
    f = 1 + \min(d_x, d_y) + \lfloor d / 2 \rfloor (\lfloor d / 2 \rfloor + d \bmod 2 - 1),

1 at both ends, and 0 where one of the two distances is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.rng import Stream, hash_uniform
from maskgae.data.csr import CSR
from maskgae.data.graph import Graph
from maskgae.nn.adjacency import Adjacency

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Enclosing:
    """The subgraphs of P pairs side by side, with n nodes together.

    Shapes:
        - **offsets:** ``[P + 1]``, where each subgraph begins
        - **nodes:** ``[n]``, what each node is in the graph
        - **labels:** ``[n]``
        - **csr:** ``[n, n]``, the edges in both directions
    """

    offsets: Tensor
    nodes: Tensor
    labels: Tensor
    csr: CSR

    @property
    def num_pairs(self) -> int:
        return self.offsets.numel() - 1

    @property
    def sizes(self) -> Tensor:
        """Nodes of each subgraph, ``[P]``."""
        return self.offsets.diff()

    def adjacency(self) -> Adjacency:
        return Adjacency(self.csr, self.csr.row_sums(), symmetric=True)

    def select(self, index: Tensor) -> Enclosing:
        """The subgraphs of some pairs, in the given order."""
        starts, sizes = self.offsets[index], self.sizes[index]
        offsets = _summed(sizes)
        nodes = torch.from_numpy(_ranges(starts.numpy(), sizes.numpy()))
        part = self.csr.rows(nodes)
        entries = part.indptr[offsets].diff()
        moved = torch.repeat_interleave(offsets[:-1] - starts, entries)
        indices = (part.indices + moved).to(part.indices.dtype)
        csr = CSR(part.indptr, indices, int(offsets[-1]))
        return Enclosing(offsets, self.nodes[nodes], self.labels[nodes], csr)

    def to(self, device: str) -> Enclosing:
        offsets, nodes, labels = (x.to(device) for x in (self.offsets, self.nodes, self.labels))
        return Enclosing(offsets, nodes, labels, self.csr.to(device))


def enclosing_subgraphs(graph: Graph, pairs: Tensor, hops: int, most: int = 0) -> Enclosing:
    """The enclosing subgraphs of pairs ``[2, P]``.

    Args:
        graph: whose edges are looked at.
        pairs: edges or negative samples.
        hops: how far from either end.
        most: nodes that each hop adds to a subgraph at most, drawn by a fixed hash; 0: all.

    >>> square = Graph.from_edges([(0, 1), (1, 2), (2, 3), (0, 3)])
    >>> found = enclosing_subgraphs(square, torch.tensor([[0], [1]]), hops=1)
    >>> found.nodes.tolist(), found.labels.tolist(), found.csr.num_entries
    ([0, 1, 2, 3], [1, 1, 3, 3], 6)
    """
    from maskgae.kernels.subgraphs import enclose

    rows, ends = graph.structure.csr, pairs.cpu().long().contiguous()
    salts = hash_uniform(ends.amin(0) * graph.num_nodes + ends.amax(0), Stream(0)).numpy()
    given = rows.indptr.numpy(), rows.indices.numpy(), ends.numpy()
    found = enclose(*given, hops, most, salts, Stream(0).key)
    offsets, nodes, labels, starts, columns = map(torch.from_numpy, found)
    return Enclosing(offsets, nodes, labels, CSR(starts, columns, nodes.numel()))


def _summed(sizes: Tensor) -> Tensor:
    """Running sums that begin with zero, ``[n] -> [n + 1]``."""
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def _ranges(starts: Integers, sizes: Integers) -> Integers:
    """All numbers from each start on, as many as its size says, one range after the other."""
    before = np.cumsum(sizes) - sizes
    out: Integers = np.repeat(starts - before, sizes) + np.arange(sizes.sum())
    return out
