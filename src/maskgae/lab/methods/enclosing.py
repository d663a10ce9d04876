r"""Enclosing subgraphs of pairs, as one disjoint union, and the labels of their nodes.

The subgraph of a pair :math:`(x, y)` has the nodes within :math:`h` hops of either end and all
edges between them but :math:`xy` itself. With :math:`d_x` a node's distance to :math:`x` where
:math:`y` is taken away, :math:`d_y` likewise and :math:`d = d_x + d_y`, its label (double-radius
node labelling, Zhang and Chen, NeurIPS 2018) is

.. math::
    f = 1 + \min(d_x, d_y) + \lfloor d / 2 \rfloor (\lfloor d / 2 \rfloor + d \bmod 2 - 1),

1 at both ends, and 0 where one of the two distances is infinite.

A node of a subgraph is the key :math:`pair \cdot N + node`; all pairs are grown, joined and
searched at once on sorted keys, with no loop over pairs.
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

#: Pairs that are extracted at a time.
CHUNK_PAIRS = 1024


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
    parts = [_extracted(graph, part.cpu(), hops, most) for part in pairs.split(CHUNK_PAIRS, dim=1)]
    return _joined(parts)


def _extracted(graph: Graph, pairs: Tensor, hops: int, most: int) -> Enclosing:
    ends, csr = pairs.numpy().astype(np.int64), graph.structure.csr
    starts, around = csr.indptr.numpy(), csr.indices.numpy()
    count = graph.num_nodes
    own = np.arange(ends.shape[1]) * count
    keys = np.unique(own + ends)
    new = keys
    for _ in range(hops):
        found = np.unique(_neighbour_keys(new, starts, around, count)[1])
        new = np.setdiff1d(found, keys, assume_unique=True)
        new = _capped(new, ends, count, most) if most else new
        keys = np.union1d(keys, new)
    where = np.searchsorted(keys, own + ends)  # [2, P], the place of each end
    local = _induced(keys, where, starts, around, count)
    labels = _labels(local, where)
    offsets = np.searchsorted(keys, np.append(own, ends.shape[1] * count))
    return Enclosing(
        torch.from_numpy(offsets), torch.from_numpy(keys % count), torch.from_numpy(labels), local
    )


def _neighbour_keys(
    keys: Integers, starts: Integers, around: Integers, count: int
) -> tuple[Integers, Integers]:
    """Neighbours of each key's node under the same pair: the key's position, the other's key."""
    nodes = keys % count
    degrees = starts[nodes + 1] - starts[nodes]
    position = np.repeat(np.arange(keys.size), degrees)
    other = around[_ranges(starts[nodes], degrees)] + (keys - nodes)[position]
    return position, other


def _capped(new: Integers, ends: Integers, count: int, most: int) -> Integers:
    """At most so many keys of each pair, chosen by a hash of pair and node, ascending."""
    owner = new // count
    salt = hash_uniform(torch.from_numpy(ends.min(0) * count + ends.max(0)), Stream(0)).numpy()
    drawn = hash_uniform(torch.from_numpy(salt[owner] + new % count), Stream(0)).numpy()
    order = np.lexsort((drawn, owner))
    first = np.searchsorted(owner, owner)  # keys ascend, and so do their pairs
    kept: Integers = np.sort(new[order[np.arange(new.size) - first < most]])
    return kept


def _induced(keys: Integers, ends: Integers, starts: Integers, around: Integers, count: int) -> CSR:
    """The edges between the keys of each pair, without the pair itself."""
    row, other = _neighbour_keys(keys, starts, around, count)
    column = np.searchsorted(keys, other)
    inside = keys[np.minimum(column, keys.size - 1)] == other
    partner = np.full(keys.size, -1)
    partner[ends[0]], partner[ends[1]] = ends[1], ends[0]
    inside &= partner[row] != column
    indptr = np.zeros(keys.size + 1, dtype=np.int64)
    np.cumsum(np.bincount(row[inside], minlength=keys.size), out=indptr[1:])
    indices = column[inside].astype(np.int32)
    return CSR(torch.from_numpy(indptr), torch.from_numpy(indices), keys.size)


def _labels(csr: CSR, ends: Integers) -> Integers:
    """Double-radius labels of all nodes of the union, ``[n]``."""
    there, back = (_distances(csr, ends[i], ends[1 - i]) for i in (0, 1))
    total = there + back
    half = total // 2
    labels: Integers = 1 + np.minimum(there, back) + half * (half + total % 2 - 1)
    labels[(there < 0) | (back < 0)] = 0
    labels[ends.reshape(-1)] = 1
    return labels


def _distances(csr: CSR, sources: Integers, blocked: Integers) -> Integers:
    """Steps from the source of each subgraph with some nodes taken away; -1 where none lead."""
    starts, around = csr.indptr.numpy(), csr.indices.numpy()
    steps = np.full(starts.size - 1, -1, dtype=np.int64)
    steps[blocked], steps[sources] = -2, 0
    front, step = sources, 0
    while front.size:
        step += 1
        reached = around[_ranges(starts[front], starts[front + 1] - starts[front])]
        front = np.unique(reached[steps[reached] == -1]).astype(np.int64)
        steps[front] = step
    return steps


def _joined(parts: list[Enclosing]) -> Enclosing:
    """Unions side by side as one."""
    shifts = _summed(torch.tensor([part.nodes.numel() for part in parts]))
    entries = _summed(torch.tensor([part.csr.num_entries for part in parts]))
    zero = torch.zeros(1, dtype=torch.long)
    offsets = [part.offsets[1:] + shift for part, shift in zip(parts, shifts, strict=False)]
    indptr = [part.csr.indptr[1:] + shift for part, shift in zip(parts, entries, strict=False)]
    indices = [part.csr.indices + shift.int() for part, shift in zip(parts, shifts, strict=False)]
    return Enclosing(
        torch.cat([zero, *offsets]),
        torch.cat([part.nodes for part in parts]),
        torch.cat([part.labels for part in parts]),
        CSR(torch.cat([zero, *indptr]), torch.cat(indices), int(shifts[-1])),
    )


def _summed(sizes: Tensor) -> Tensor:
    """Running sums that begin with zero, ``[n] -> [n + 1]``."""
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def _ranges(starts: Integers, sizes: Integers) -> Integers:
    """All numbers from each start on, as many as its size says, one range after the other."""
    before = np.cumsum(sizes) - sizes
    out: Integers = np.repeat(starts - before, sizes) + np.arange(sizes.sum())
    return out
