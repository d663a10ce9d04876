r"""Negatives: draws from the pairs that are not edges, of any ends or with an end of a target.

:class:`NonEdges` are uniform, and drawn without rejection.

The :math:`N (N - 1) / 2` pairs :math:`u < v` are numbered row by row by
:func:`~maskgae.data.pairs.pair_ranks`; where nodes have types, the pairs that may be are, by
:class:`~maskgae.data.types.TypedPairs`. With the edges' numbers
:math:`e_0 < e_1 < \dots < e_{M-1}`, exactly :math:`e_k - k` non-edges stand before
edge :math:`k`, so the non-edge number :math:`r` is the pair

.. math::

    t = r + |\{k : e_k - k \le r\}|,

found by one binary search. Every draw is a hit: the count is exact, no edge can slip through and
a nearly complete graph costs no more than a sparse one.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.sizes import CHUNK_PAIRS
from maskgae.data.graph import Graph
from maskgae.data.pairs import AllPairs
from maskgae.data.types import TypedPairs

Integers = NDArray[np.int64]
#: Members of each type one after the other, where those of a type begin, and how many they are.
Pools = tuple[Integers, Integers, Integers]

#: How often an end that may not be is drawn.
DRAWS = 4


class NonEdges:
    """The pairs of a graph that are not edges; built once, drawn from at every step.

    Whole numbers come from NumPy's generator, which is exactly uniform; torch's ``randint`` takes
    a remainder, which favours small numbers by up to some percent.

    Args:
        graph: what the negatives must not be an edge of.

    Raises:
        InputError: if every pair is an edge.

    >>> from maskgae.base.rng import stream
    >>> square = NonEdges(Graph.from_edges([(0, 1), (1, 2), (2, 3), (0, 3)]))
    >>> square.count
    2
    >>> square.sample_distinct(2, stream(0, "negatives")).tolist()
    [[0, 1], [2, 3]]
    """

    def __init__(self, graph: Graph) -> None:
        typed = graph.types
        self.space = AllPairs(graph.num_nodes) if typed is None else TypedPairs(typed)
        #: How many pairs are not edges.
        self.count = self.space.count - graph.num_pairs
        if self.count <= 0:
            kind = "" if typed is None else " of types that edges join"
            raise InputError(
                f"{graph.name} has no non-edges to serve as negative samples: all pairs{kind} of "
                f"its {graph.num_nodes:,} nodes are edges; use a graph that lacks some"
            )
        # [M], non-edges before each edge
        self._before = np.empty(graph.num_pairs, dtype=np.int64)
        for start in range(0, graph.num_pairs, CHUNK_PAIRS):
            part = self._before[start : start + CHUNK_PAIRS]
            pairs = graph.pairs[:, start : start + CHUNK_PAIRS].cpu().numpy()
            part[:] = self.space.ranks(pairs)
        if typed is not None:  # the others ascend as the pairs do
            self._before.sort()
        self._before -= np.arange(graph.num_pairs)

    def sample(self, count: int, stream: Stream) -> Tensor:
        """``count`` independent draws, with replacement, as ascending pairs ``[2, count]``.

        The draws are sorted before they are looked up: ascending queries walk through the
        edges in order (a fifth of the time of random ones at a million), and so do the gathers
        of node embeddings later on. Their order carries no information: they all are negatives.
        """
        return self._pairs(stream.numpy().integers(self.count, size=count))

    def sample_distinct(self, count: int, stream: Stream) -> Tensor:
        """``count`` different non-edges, every such set equally likely, ascending ``[2, count]``.

        Raises:
            InputError: if there are fewer than ``count``.
        """
        if count > self.count:
            raise InputError(
                f"{count:,} different negatives were asked for, but the graph has only "
                f"{self.count:,} non-edges: hold out fewer pairs"
            )
        draw = stream.numpy().choice(self.count, size=count, replace=False, shuffle=False)
        return self._pairs(draw)

    def _pairs(self, draw: Integers) -> Tensor:
        draw.sort()
        draw += np.searchsorted(self._before, draw, side="right")
        return torch.from_numpy(self.space.pairs(draw))

    def __repr__(self) -> str:
        return f"NonEdges({self.count})"


class Corrupted:
    """Non-edges that keep one end of a target, as candidates of a ranking do.

    The other end is drawn evenly from all nodes, by degree, or for every second one either way. A
    draw that is an edge, or the kept end itself, is made again, :data:`DRAWS` times at most; what
    is then left, as around a node that knows nearly all others, becomes a non-edge of any ends.

    Args:
        graph: what the pairs must not be an edge of.
        kind: ``even``, ``degree`` or ``mixed``.
        non_edges: those of the graph, where they are built already.

    >>> from maskgae.base.rng import stream
    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    >>> Corrupted(path, "even").sample(torch.tensor([[0], [1]]), 2, stream(0))[:, :2].tolist()[0]
    [0, 0]
    """

    def __init__(self, graph: Graph, kind: str, non_edges: NonEdges | None = None) -> None:
        self.graph, self.kind, self.non_edges = graph, kind, non_edges or NonEdges(graph)

    def sample(self, targets: Tensor, count: int, stream: Stream) -> Tensor:
        """``count`` pairs that keep the first end of each target, then as many with the second.

        Shapes:
            - **targets:** ``[2, T]``
            - **output:** ``[2, T * 2 * count]``, those of a target side by side
        """
        # [T * 2 * count]
        kept = targets.T.long().repeat_interleave(count, dim=1).reshape(-1)
        other = torch.empty_like(kept)
        left = torch.arange(kept.numel())
        for draw in range(DRAWS):
            other[left] = self._ends(left, kept[left], stream.at(draw))
            pairs = torch.stack([kept[left], other[left]])
            left = left[(pairs[0] == pairs[1]) | self.graph.contains(pairs)]
        pairs = torch.stack([kept, other])
        pairs[:, left] = self.non_edges.sample(left.numel(), stream.at("any"))
        if self.graph.directed:  # a kept target stays one
            second = torch.arange(kept.numel()) // count % 2 == 1
            pairs = torch.where(second, pairs.flip(0), pairs)
        return pairs

    def _ends(self, places: Tensor, kept: Tensor, stream: Stream) -> Tensor:
        """New ends for some of the pairs, each beside the end that it keeps, ``[n] -> [n]``."""
        random, types = stream.numpy(), self.graph.types
        codes = None if types is None else types.codes[kept].numpy()
        even = torch.from_numpy(
            _drawn(
                random,
                None if types is None else types.pools,
                codes,
                self.graph.num_nodes,
                places.numel(),
            )
        )
        if self.kind == "even":
            return even
        # Each node stands as often in the rows as it has neighbours.
        ends = self.graph.structure.csr.indices
        entry = _drawn(random, self._entries, codes, ends.numel(), places.numel())
        by_degree = ends[torch.from_numpy(entry)].long()
        return by_degree if self.kind == "degree" else torch.where(places % 2 == 0, even, by_degree)

    @cached_property
    def _entries(self) -> Pools | None:
        """The entries of the rows of each type, whose columns are its partners."""
        types = self.graph.types
        if types is None:
            return None
        codes = types.codes[self.graph.structure.csr.row_of_entry()].numpy()
        sizes = np.bincount(codes, minlength=types.count)
        return np.argsort(codes, kind="stable"), np.cumsum(sizes) - sizes, sizes


def _drawn(
    random: np.random.Generator, pools: Pools | None, codes: Integers | None, count: int, size: int
) -> Integers:
    """Evenly drawn numbers below ``count``, or from the pool of each code."""
    if pools is None or codes is None:
        return random.integers(count, size=size)
    members, first, sizes = pools
    return members[first[codes] + random.integers(sizes[codes])]
