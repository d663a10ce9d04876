r"""Blocks: what a few nodes need of a large graph, layer by layer.

To compute the last layer for some seeds, the layer before it is needed for the seeds and their
neighbours, the one before that for these and theirs, and so on. Each layer gets its own
:class:`~maskgae.nn.adjacency.Adjacency`, whose destinations are the sources of the next layer.

With all neighbours, blocks give the seeds exactly what the whole visible graph would. With
:math:`f` neighbours sampled per hop (the fan-out), a node of :math:`d > f` visible neighbours
keeps :math:`f` of them, drawn uniformly without replacement, and each stands for
:math:`d / f` of them:

=====  =====================================================================================
GCN    entries weigh :math:`\frac{d_i}{f} / \sqrt{(d_i + 1)(d_j + 1)}`, with the degrees of the
       visible graph; the sum over neighbours keeps its expectation
SAGE   the mean over the drawn neighbours has the expectation of the mean over all
GAT    entries count :math:`d / f` times in the softmax, beside the node itself: numerator and
       denominator keep their expectations, their ratio does so as :math:`f` grows
=====  =====================================================================================

Behind a non-linearity an unbiased sum does not give an unbiased output, here as in every sampler
of neighbours (Hamilton, Ying and Leskovec, 2017).

Which neighbours are drawn follows from a hash of node, draw and stream, not from the order of
nodes: every worker that meets a node in the same step draws the same neighbours for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.base.sizes import CHUNK_PAIRS
from maskgae.data.csr import CSR
from maskgae.data.graph import Graph
from maskgae.nn.adjacency import Adjacency

Integers = NDArray[np.int64]

#: A fan-out that keeps every neighbour.
ALL = -1


@dataclass(frozen=True)
class Blocks:
    """What the encoder needs to see for some seeds.

    Shapes:
        - **nodes:** ``[n_0]``, the input of the first layer; the seeds come first
        - **adjacencies:** one per layer, the first layer's first; the last has the seeds as rows
    """

    nodes: Tensor
    adjacencies: list[Adjacency]


class Sampler:
    """Cuts blocks out of what is visible of a graph.

    Its memory is a number per node, made once; a block costs no more than its own size.

    Args:
        graph: the training graph.
        visible: which pairs can be seen, ``[M]`` bool; all where it is ``None``.

    >>> graph = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    >>> blocks = Sampler(graph).blocks(torch.tensor([0]), [ALL, ALL])
    >>> blocks.nodes.tolist(), blocks.adjacencies
    ([0, 1, 2], [Adjacency(2, 3, entries=3), Adjacency(1, 2, entries=1)])
    """

    def __init__(self, graph: Graph, visible: Tensor | None = None) -> None:
        self.graph = graph
        csr = graph.structure.csr
        self._indptr, self._indices = csr.indptr.numpy(), csr.indices.numpy()
        self._pairs = graph.structure.pair_of_entry.numpy()
        self._visible = None if visible is None else visible.numpy()
        #: ``[N]``, (weighted) degrees in the visible graph.
        self.degrees = visible_degrees(graph, visible)
        plain = graph if graph.weights is None else replace(graph, weights=None)
        counts = self.degrees if plain is graph else visible_degrees(plain, visible)
        # [N], visible neighbours
        self._seen = counts.long().numpy()
        self._place = np.full(graph.num_nodes, -1, dtype=np.int32)

    def blocks(self, seeds: Tensor, fanouts: Sequence[int], stream: Stream | None = None) -> Blocks:
        """The blocks of some seeds.

        Args:
            seeds: different nodes.
            fanouts: neighbours sampled per hop: how many of a node to keep, from the seeds on;
                :data:`ALL` keeps every one.
            stream: where the draws come from; needed where a fan-out is not :data:`ALL`.

        Shapes:
            - **seeds:** ``[n_L]``
        """
        nodes: Integers = seeds.numpy()
        adjacencies: list[Adjacency] = []
        for hop, fanout in enumerate(fanouts):
            draw = None if stream is None or fanout == ALL else stream.at("hop", hop)
            nodes, adjacency = self._hop(nodes, fanout, draw)
            adjacencies.insert(0, adjacency)
        return Blocks(torch.from_numpy(nodes), adjacencies)

    def seeds(self, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """The different ends of pairs, and the pairs by their places among them.

        Shapes:
            - **pairs:** ``[2, P]``
            - **output:** ``[n]`` ascending, and ``[2, P]``
        """
        from maskgae.kernels.blocks import number_nodes

        local = pairs.long().flatten().clone()
        ends = number_nodes(self._place, np.empty(0, dtype=np.int64), local.numpy())
        return torch.from_numpy(ends), local.view(pairs.shape)

    def _hop(
        self, nodes: Integers, fanout: int, stream: Stream | None
    ) -> tuple[Integers, Adjacency]:
        """The nodes with their neighbours behind them, and the adjacency between the two."""
        from maskgae.kernels.blocks import number_nodes

        seen = self._seen[nodes]
        kept = seen if stream is None else np.minimum(seen, fanout)
        indptr = np.concatenate([[0], np.cumsum(kept)])
        entries = self._drawn(nodes, indptr, 0 if stream is None else stream.key)
        columns = self._indices[entries].astype(np.int64)
        sources = number_nodes(self._place, nodes, columns)
        scale = None
        if (kept < seen).any():
            scale = torch.from_numpy((seen / np.maximum(kept, 1)).astype(np.float32))
        values = self._values(entries, kept, scale)
        csr = CSR(torch.from_numpy(indptr), torch.from_numpy(columns), sources.size, values)
        degrees = self.degrees[torch.from_numpy(sources)]
        order = lambda: transpose_order(csr)  # noqa: E731
        return sources, Adjacency(csr, degrees, transpose_order=order, scale=scale)

    def _drawn(self, nodes: Integers, starts: Integers, key: int) -> Integers:
        """The kept entries of the nodes' rows, as many as the starts leave room for."""
        from maskgae.kernels.blocks import draw_entries
        from maskgae.kernels.compiled import in_threads

        entries = np.empty(starts[-1], dtype=np.int64)
        fixed = self._indptr, self._pairs, self._visible, self._seen

        def work(part: slice) -> None:
            room = starts[part.start : part.stop + 1]
            draw_entries(*fixed, nodes[part], room, key, entries)

        in_threads(work, nodes.size)
        return entries

    def _values(self, entries: Integers, kept: Integers, scale: Tensor | None) -> Tensor | None:
        """Edge weights times what each entry stands for; ``None`` where all are one."""
        values = None if scale is None else scale.repeat_interleave(torch.from_numpy(kept))
        if self.graph.weights is None:
            return values
        weights = self.graph.weights[torch.from_numpy(self._pairs[entries])]
        return weights if values is None else weights * values


def visible_degrees(graph: Graph, visible: Tensor | None = None) -> Tensor:
    """(Weighted) degrees of the visible part of a graph, chunk by chunk, ``[N]`` float32."""
    degrees = np.zeros(graph.num_nodes)
    for start in range(0, graph.num_pairs, CHUNK_PAIRS):
        part = slice(start, start + CHUNK_PAIRS)
        flags = slice(None) if visible is None else visible[part].numpy()
        weights: Any = None if graph.weights is None else graph.weights[part].numpy()[flags]
        for ends in graph.pairs[:, part].numpy():
            degrees += np.bincount(ends[flags], weights, graph.num_nodes)
    return torch.from_numpy(degrees.astype(np.float32))


def transpose_order(csr: CSR) -> Tensor:
    """The positions of the entries by column, then by row; SciPy counts instead of sorting."""
    places = np.arange(csr.num_entries)
    shape = (csr.num_rows, csr.num_columns)
    matrix = sp.csr_array((places, csr.indices.numpy(), csr.indptr.numpy()), shape=shape)
    return torch.from_numpy(matrix.tocsc().data)
