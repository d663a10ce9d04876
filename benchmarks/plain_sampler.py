"""Drawing neighbours as one would write it in NumPy, for a comparison."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maskgae.base.rng import Stream
from maskgae.data.graph import Graph


def numpy_blocks(
    graph: Graph,
    visible: NDArray[np.bool_],
    nodes: NDArray[np.int64],
    fanouts: Sequence[int],
    draw: Stream,
) -> list[NDArray[np.int64]]:
    """The nodes that each hop has reached, beginning with those given.

    Looks at all entries of the nodes' rows, brings the visible ones of each row into a random
    order, takes the first few, and finds the different ones by sorting.
    """
    csr, pairs = graph.structure.csr, graph.structure.pair_of_entry.numpy()
    indptr, indices, hops = csr.indptr.numpy(), csr.indices.numpy(), [nodes]
    for hop, fanout in enumerate(fanouts):
        counts = indptr[nodes + 1] - indptr[nodes]
        row = np.repeat(np.arange(nodes.size), counts)
        first = np.repeat(indptr[nodes] - np.cumsum(counts) + counts, counts)
        entries = first + np.arange(row.size)
        seen = visible[pairs[entries]]
        row, entries = row[seen], entries[seen]
        order = np.lexsort((draw.at(hop).numpy().random(row.size), row))
        row, entries = row[order], entries[order]
        place = np.arange(row.size) - np.searchsorted(row, np.arange(nodes.size))[row]
        nodes = np.union1d(nodes, indices[entries[place < fanout]].astype(np.int64))
        hops.append(nodes)
    return hops
