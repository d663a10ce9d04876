"""Views of a graph: edges dropped, columns of features masked, rows shuffled.

==========================  ==============================================================
:func:`drop_edges`          each direction of each edge is left out on its own, so that a view
                            is not symmetric, as in the published code of GRACE, GCA and BGRL
:func:`mask_columns`        one mask over the columns, the same for all nodes, nothing scaled up
:func:`shuffle_rows`        the rows of a matrix in random order
==========================  ==============================================================

A drop of whole edges, both directions at once, is ``Adjacency.of(graph, visible)``. Features are
shuffled after their product with the weights, since :math:`(P X) W = P (X W)`: ``conv.send``, then
:func:`shuffle_rows`, then ``conv.combine``.
"""

from __future__ import annotations

import scipy.sparse as sp
import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.data.csr import positions
from maskgae.data.features import Features
from maskgae.nn.adjacency import Adjacency


def drop_edges(adjacency: Adjacency, p: float | Tensor, stream: Stream) -> Adjacency:
    """The adjacency without some of its entries; degrees are those of what is left.

    Args:
        adjacency: square.
        p: chance of an entry to be dropped, one for all or one for each ``[entries]``.
        stream: where the draw comes from.

    >>> from maskgae.data.graph import Graph
    >>> ring = Adjacency.of(Graph.from_edges([(0, 1), (1, 2), (0, 2)]))
    >>> drop_edges(ring, torch.tensor([1.0, 0, 0, 0, 0, 1]), Stream(0)).degrees.tolist()
    [1.0, 2.0, 1.0]
    """
    keep = _kept(adjacency.csr.num_entries, p, stream).to(adjacency.csr.indices.device)
    csr = adjacency.csr.select(keep)

    def order() -> Tensor:
        # The kept ones in the full order by column: nothing is sorted again.
        full = adjacency.order()
        kept = full.index_select(0, positions(keep.index_select(0, full)))
        return (keep.cumsum(0) - 1).index_select(0, kept)

    return Adjacency(csr, csr.row_sums(), transpose_order=order)


def mask_columns(x: Features, p: float | Tensor, stream: Stream) -> Features:
    """The features with some columns zero; ``p`` is one for all or one for each ``[columns]``.

    >>> from maskgae.data.features import DenseFeatures
    >>> masked = mask_columns(DenseFeatures(torch.ones(2, 3)), torch.tensor([1.0, 0, 0]), Stream(0))
    >>> masked.dense().tolist()
    [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    """
    return MaskedFeatures(x, _kept(x.num_columns, p, stream))


def shuffle_rows(rows: Tensor, stream: Stream) -> Tensor:
    """The rows in uniformly random order, ``[N, d]``."""
    order = torch.randperm(rows.shape[0], generator=stream.torch())
    return rows.index_select(0, order.to(rows.device))


def sample_nodes(count: int, most: int, stream: Stream) -> Tensor:
    """``most`` of ``count`` nodes at random, ascending; all of them where there are no more, or
    where ``most`` is 0.

    >>> sample_nodes(3, 4, Stream(0)), sample_nodes(100, 4, Stream(0)).numel()
    (tensor([0, 1, 2]), 4)
    """
    if most == 0 or count <= most:
        return torch.arange(count)
    return torch.randperm(count, generator=stream.torch())[:most].sort().values


class MaskedFeatures(Features):
    """Features of which only some columns count, ``[columns]`` bool.

    A column that is masked is a row of weights that is zero, so nothing is copied.
    """

    def __init__(self, full: Features, keep: Tensor) -> None:
        self.full, self.keep = full, keep
        self.num_rows, self.num_columns = full.shape
        self.message_width = full.message_width

    def linear(self, weight: Tensor) -> Tensor:
        return self.full.linear(weight * self.keep.to(weight).unsqueeze(1))

    def dropout(self, p: float, stream: Stream) -> MaskedFeatures:
        return MaskedFeatures(self.full.dropout(p, stream), self.keep)

    def rows(self, index: Tensor) -> MaskedFeatures:
        return MaskedFeatures(self.full.rows(index), self.keep)

    def dense(self) -> Tensor:
        full = self.full.dense()
        return full * self.keep.to(full)

    def to(self, device: torch.device | str) -> MaskedFeatures:
        return MaskedFeatures(self.full.to(device), self.keep.to(device))

    def scipy(self) -> sp.csr_matrix:
        return sp.csr_matrix(self.full.scipy() @ sp.diags(self.keep.float().numpy()))


def _kept(count: int, p: float | Tensor, stream: Stream) -> Tensor:
    """Which of ``count`` things stay, ``[count]`` bool."""
    drawn = torch.rand(count, generator=stream.torch(), dtype=torch.float64)
    return drawn >= (p.cpu() if isinstance(p, Tensor) else p)
