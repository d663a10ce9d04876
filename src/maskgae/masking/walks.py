"""Random walks on compressed rows."""

from __future__ import annotations

import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.data.csr import CSR
from maskgae.data.graph import Graph

#: Proposals for a biased step before the last one is taken as it is. With node2vec's usual
#: parameters (0.25 to 4) the chance to get this far is below 1e-5.
MAX_PROPOSALS = 200


def random_walks(graph: Graph, starts: Tensor, length: int, stream: Stream) -> Tensor:
    r"""Simple random walks: each step goes to a neighbour drawn uniformly.

    Args:
        graph: where to walk.
        starts: the first node of each walk.
        length: the number of steps.
        stream: where the randomness comes from.

    Shapes:
        - **starts:** ``[W]``
        - **output:** ``[length, W]``, the entry of ``graph.structure.csr`` that each step takes,
          -1 where a walk stands on a node without neighbours
    """
    csr, generator = graph.structure.csr, stream.torch()
    here, steps = starts, []
    for _ in range(length):
        entry = _uniform_entry(csr, here, generator)
        here = torch.where(entry >= 0, csr.indices[entry.clamp(min=0)], here)
        steps.append(entry)
    return torch.stack(steps)


def biased_walks(
    graph: Graph, starts: Tensor, length: int, p: float, q: float, stream: Stream
) -> Tensor:
    r"""Walks of node2vec (Grover and Leskovec, 2016), sampled by rejection.

    Coming from :math:`t`, the next node :math:`x` is drawn with a weight of :math:`1/p` if
    :math:`x = t`, 1 if :math:`x` is a neighbour of :math:`t`, and :math:`1/q` otherwise. A
    neighbour is proposed uniformly and accepted with its weight over the largest one, which needs
    no table per edge. Shapes as in :func:`random_walks`.
    """
    from maskgae.kernels.walks import biased_steps

    csr, steps = graph.structure.csr, torch.empty(length, starts.numel(), dtype=torch.long)
    rows, first = (csr.indptr.numpy(), csr.indices.numpy()), starts.contiguous().numpy()
    biased_steps(*rows, first, float(p), float(q), MAX_PROPOSALS, stream.key, steps.numpy())
    return steps


def _uniform_entry(csr: CSR, nodes: Tensor, generator: torch.Generator) -> Tensor:
    """One entry of each node's row, -1 where the row is empty."""
    start = csr.indptr[nodes]
    count = csr.indptr[nodes + 1] - start
    # In float64 the product stays below the count for any degree that a graph can have.
    offset = (torch.rand(nodes.numel(), generator=generator, dtype=torch.float64) * count).long()
    return torch.where(count > 0, start + offset, -1)
