"""Batches whose pairs share their ends, so that an update on sampled neighbours needs few nodes.

A batch of :math:`B` targets in any order has nearly :math:`2 B` ends, and as many negative samples
as many more. Here each target belongs to one of its ends by a hash, and the targets of an end come
in one batch: that leaves two thirds of the ends of targets. Negative samples join the nodes of an
even sample, each four times in the mean. Every target has its turn once an epoch, and a negative
sample is as likely to be any non-edge as before; what changes is which of them meet in an update.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.rng import Stream, hash_uniform
from maskgae.data.graph import Graph
from maskgae.data.negatives import DRAWS, NonEdges
from maskgae.data.pairs import AllPairs
from maskgae.masking.mask import Masked

#: Targets that share an end in one batch, about; those of a hub come in several.
TOGETHER = 16
#: Negative samples for each node of the sample that they join.
NEGATIVES_A_NODE = 2


def shared_order(graph: Graph, masked: Masked, stream: Stream) -> Tensor:
    """The targets of an epoch with those that belong to one end side by side, ``[T]``.

    >>> from maskgae.base.rng import stream
    >>> star = Graph.from_edges([(0, 1), (0, 2), (3, 4), (3, 5)])
    >>> masked = Masked(torch.zeros(4, dtype=torch.bool), torch.arange(4), star.degrees)
    >>> sorted(shared_order(star, masked, stream(0)).tolist())
    [0, 1, 2, 3]
    """
    u, v = graph.pairs[:, masked.targets].long()
    drawn = hash_uniform(u * graph.num_nodes + v, stream.at("owner"))
    owner = torch.where(drawn % 2 == 0, u, v)
    parts = 1 + masked.degrees[owner].long() // (2 * TOGETHER)
    group = owner + graph.num_nodes * ((drawn >> 1) % parts)
    place = hash_uniform(group, stream.at("place")).numpy()
    return masked.targets[torch.from_numpy(np.argsort(place, kind="stable"))]


def shared_negatives(graph: Graph, non_edges: NonEdges, count: int, stream: Stream) -> Tensor:
    """Non-edges between the nodes of a small even sample, as ascending pairs ``[2, count]``.

    A draw that is an edge is made again, :data:`DRAWS` times at most; what is then left becomes a
    non-edge of any ends. Where nodes have types, or are few, all are drawn so.

    >>> from maskgae.base.rng import stream
    >>> ring = Graph.from_edges([(i, (i + 1) % 500) for i in range(500)])
    >>> drawn = shared_negatives(ring, NonEdges(ring), 400, stream(0))
    >>> drawn.unique().numel() <= 200, bool(ring.contains(drawn).any())
    (True, False)
    """
    size = count // NEGATIVES_A_NODE
    if graph.types is not None or not 32 < size < graph.num_nodes:
        return non_edges.sample(count, stream)
    nodes = stream.at("nodes").numpy().choice(graph.num_nodes, size, replace=False, shuffle=False)
    nodes.sort()
    found, space = np.empty((2, 0), dtype=np.int64), AllPairs(size)
    for draw in range(DRAWS):
        wanted = count - found.shape[1]
        places = stream.at("among", draw).numpy().integers(space.count, size=wanted)
        drawn = nodes[space.pairs(places)]
        found = np.concatenate([found, drawn[:, ~_edges(graph, drawn)]], axis=1)
    rest = non_edges.sample(count - found.shape[1], stream.at("any")).numpy()
    found = np.concatenate([found, rest], axis=1)
    return torch.from_numpy(found[:, np.argsort(found[0], kind="stable")])


def _edges(graph: Graph, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which pairs are edges, ``[2, P] -> [P]``, by their rows: the keys of all need not be made."""
    from maskgae.kernels.neighbours import are_joined

    csr, found = graph.structure.csr, np.empty(pairs.shape[1], dtype=np.bool_)
    are_joined(csr.indptr.numpy(), csr.indices.numpy(), pairs[0], pairs[1], found)
    return found
