r"""How much two adjacent nodes' subgraphs overlap (the paper's "Masking reduces subgraph
overlapping").

With the nodes :math:`V^k(u)` within :math:`k` steps of :math:`u`, itself included, and the edges
:math:`E^k(u)` among them, over the positive pairs :math:`E^+`

.. math::

    O_{node} = \frac{1}{2 |E^+|} \sum_{(u, v) \in E^+}
        \frac{|V^k(u) \cap V^k(v)|}{|V^k(u)|} + \frac{|V^k(u) \cap V^k(v)|}{|V^k(v)|}

and :math:`O_{edge}` likewise with :math:`E^k`. Subgraphs are those of the graph the encoder sees.
An end without any visible edge has an empty :math:`E^k`; it shares nothing, so 0/0 counts as 0,
as the node term does that stands beside it.

Both sets of every end are rows of bits, built from sparse rows in chunks, so a pair costs one
``and`` and a count of bits: :math:`W M` bits for :math:`W` distinct ends and :math:`M` edges. Where
that is more than :data:`EDGE_BITS` the mean comes from a sample of the pairs, with its error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream, stream
from maskgae.base.sizes import CHUNK_NUMBERS
from maskgae.data.graph import Graph

#: Bits of the edge sets held at once (half a gigabyte); beyond it, pairs are sampled.
EDGE_BITS = 1 << 32

#: Subgraphs that are unpacked at once: few, so that what is picked from them stays in the cache.
ROWS = 32

#: Nodes of the highest degree among which a sampled pass looks for the largest subgraph as well.
HUBS = 32

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]


@dataclass(frozen=True)
class Overlap:
    """Overlap of paired subgraphs, means over pairs as fractions.

    Args:
        hops: the radius :math:`k`.
        o_node: of the nodes.
        o_edge: of the edges.
        se_node: standard error of ``o_node`` from sampling pairs; 0 where all were counted.
        se_edge: of ``o_edge``.
        pairs: how many pairs were counted.
        of_pairs: how many there are.
        shared_nodes: mean size of the common subgraph, :math:`E[N^k_{uv}]`.
        largest: nodes of the largest subgraph, :math:`N_k`; the largest seen, where pairs were
            sampled.
    """

    hops: int
    o_node: float
    o_edge: float
    se_node: float
    se_edge: float
    pairs: int
    of_pairs: int
    shared_nodes: float
    largest: int

    @property
    def exact(self) -> bool:
        """Whether every pair was counted."""
        return self.pairs == self.of_pairs


def subgraph_overlap(
    graph: Graph,
    pairs: Tensor | None = None,
    hops: int = 2,
    *,
    sample: int = 0,
    seed: Stream | int = 0,
) -> Overlap:
    r"""Mean overlap of the :math:`k`-hop subgraphs of paired nodes, and their sizes.

    Args:
        graph: what the encoder sees.
        pairs: the positives; all edges where they are not given. A pair may stand twice.
        hops: the radius :math:`k`.
        sample: count so many pairs, drawn without replacement; 0: all, or as many as
            :data:`EDGE_BITS` allows.
        seed: where a sample comes from.

    Shapes:
        - **pairs:** ``[2, P]``

    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    >>> overlap = subgraph_overlap(path, hops=1)
    >>> round(overlap.o_node, 4), round(overlap.o_edge, 4)  # 5/6, 2/3, 5/6 and 3/4, 1/2, 3/4
    (0.7778, 0.6667)
    """
    if hops < 1:
        raise InputError(f"hops must be 1 or more, not {hops}")
    ends: Integers = (graph.pairs if pairs is None else pairs).cpu().numpy()
    total = ends.shape[1]
    if total == 0:
        raise InputError(f"{graph.name} has no pairs whose subgraphs could overlap")
    source = seed if isinstance(seed, Stream) else stream(seed, "overlap")
    ends = _sampled(ends, sample or _affordable(ends, graph), source)
    # [P, 2], [P]
    terms, shared, largest = _compared(graph, ends, hops)
    for _, reached in _reached(graph, _other_centres(graph, ends, total), hops, 8 * ROWS):
        largest = max(largest, int(np.diff(reached.indptr).max()))
    means, errors = terms.mean(axis=0), _errors(terms, total)
    return Overlap(
        hops=hops,
        o_node=float(means[0]),
        o_edge=float(means[1]),
        se_node=float(errors[0]),
        se_edge=float(errors[1]),
        pairs=len(terms),
        of_pairs=total,
        shared_nodes=float(shared.mean()),
        largest=largest,
    )


def _compared(graph: Graph, ends: Integers, hops: int) -> tuple[Floats, Integers, int]:
    """Both overlap terms and the common nodes of each pair, and the largest subgraph seen."""
    terms, largest = np.empty((ends.shape[1], 2)), 0
    shared = np.empty(ends.shape[1], dtype=np.int64)
    for block in _blocks(ends, graph):
        centres, index = np.unique(ends[:, block], return_inverse=True)
        first, second = index.reshape(2, -1)
        for column, bits in enumerate(_bit_rows(graph, centres, hops)):
            sizes = _counted(bits, np.arange(centres.size))
            common = _counted(bits, first, second)
            both = _share(common, sizes[first]) + _share(common, sizes[second])
            terms[block, column] = both / 2
            if column == 0:
                shared[block], largest = common, max(largest, int(sizes.max()))
    return terms, shared, largest


def _blocks(ends: Integers, graph: Graph) -> Iterator[slice]:
    """Slices of the pairs whose edge sets fit in memory together."""
    count = ends.shape[1]
    step = count if _affordable(ends, graph) == count else _affordable_sample(graph)
    for start in range(0, count, step):
        yield slice(start, start + step)


def _bit_rows(graph: Graph, centres: Integers, hops: int) -> tuple[Bits, Bits]:
    """Nodes and edges of the subgraphs around some nodes, as bits in words of 64.

    Shapes:
        - **centres:** ``[W]``
        - **output:** ``[W, N / 64]``, ``[W, M / 64]``
    """
    u, v = graph.pairs.numpy()
    nodes, edges = (
        np.zeros((centres.size, 8 * -(-count // 64)), dtype=np.uint8)
        for count in (graph.num_nodes, graph.num_pairs)
    )
    for rows, reached in _reached(graph, centres, hops, ROWS):
        # [N, rows]: picking whole rows of this is twice as fast as picking columns.
        inside = np.ascontiguousarray(reached.toarray(order="F").T)
        # An edge lies in the subgraph where both of its ends do.
        both = np.take(inside, u, axis=0)
        both &= np.take(inside, v, axis=0)
        for bits, flags in ((nodes, inside), (edges, both)):
            packed = np.packbits(np.ascontiguousarray(flags.T), axis=1)
            bits[rows, : packed.shape[1]] = packed
    return nodes.view(np.uint64), edges.view(np.uint64)


def _counted(bits: Bits, rows: Integers, others: Integers | None = None) -> Integers:
    """Set bits of the given rows, or those that they share with other rows, ``[P]``."""
    out = np.empty(rows.size, dtype=np.int64)
    step = max(1, CHUNK_NUMBERS // max(1, bits.shape[1]))
    for start in range(0, rows.size, step):
        part = slice(start, start + step)
        picked = bits[rows[part]]
        if others is not None:
            picked &= bits[others[part]]
        out[part] = np.bitwise_count(picked).sum(axis=1, dtype=np.int64)
    return out


def _share(common: Integers, size: Integers) -> Floats:
    return np.divide(common, size, out=np.zeros(size.size), where=size > 0)


def _errors(terms: Floats, total: int) -> Floats:
    """Standard errors of the means of a sample without replacement; 0 where it is everything."""
    count = terms.shape[0]
    if not 1 < count < total:
        return np.zeros(terms.shape[1])
    errors: Floats = terms.std(axis=0, ddof=1) * np.sqrt((1 - count / total) / count)
    return errors


def _reached(
    graph: Graph, centres: Integers, hops: int, step: int
) -> Iterator[tuple[slice, sp.csr_array]]:
    """The nodes within some steps of the centres, as boolean sparse rows, chunk by chunk."""
    csr, size = graph.structure.csr, graph.num_nodes
    ones = np.ones(csr.num_entries, dtype=bool)
    adjacency = sp.csr_array((ones, csr.indices.numpy(), csr.indptr.numpy()), shape=(size, size))
    closed = sp.csr_array(adjacency + sp.eye_array(size, dtype=bool))
    for start in range(0, centres.size, step):
        rows = closed[centres[start : start + step]]
        for _ in range(hops - 1):
            rows = rows @ closed
        yield slice(start, start + step), rows


def _affordable(ends: Integers, graph: Graph) -> int:
    """All pairs, or as many as the bits of their ends' edge sets allow."""
    everything = np.unique(ends).size * graph.num_pairs <= EDGE_BITS
    return ends.shape[1] if everything else min(ends.shape[1], _affordable_sample(graph))


def _affordable_sample(graph: Graph) -> int:
    return max(2, EDGE_BITS // max(1, 2 * graph.num_pairs))


def _sampled(ends: Integers, count: int, source: Stream) -> Integers:
    if count >= ends.shape[1]:
        return ends
    chosen = source.numpy().choice(ends.shape[1], count, replace=False, shuffle=False)
    return ends[:, np.sort(chosen)]


def _other_centres(graph: Graph, ends: Integers, total: int) -> Integers:
    """Nodes beside the ends that may have the largest subgraph: all others, or the hubs."""
    if ends.shape[1] == total:
        return np.setdiff1d(np.arange(graph.num_nodes), ends)
    return np.argsort(-graph.degrees.numpy(), kind="stable")[:HUBS]
