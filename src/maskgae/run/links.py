r"""Missing links: for each node the pairs that the decoder scores highest.

On small graphs every pair is scored. On larger ones candidates come from two sides and are then
scored by the decoder: nodes two steps away, by resource allocation :math:`\sum_w 1/d_w` over
common neighbours (three steps away in graphs of two sides), and nodes whose embeddings point the
same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.sizes import CHUNK_NUMBERS
from maskgae.data.graph import Graph
from maskgae.evaluation.method import PairScores, row_scores
from maskgae.evaluation.ranking import left_out
from maskgae.evaluation.rules import has_triangles

#: Up to this many ordered pairs all are scored.
EXACT_PAIRS = 100_000_000
#: More ordered pairs than this take hours, and are refused.
MOST_PAIRS = 10**12
#: Candidates from each side, at the least; more where more links are asked for.
CANDIDATES = 100


@dataclass(frozen=True)
class Links:
    """The best missing links of each asked node, best first.

    Shapes:
        - **source**, **target:** ``[L]``, node numbers; sources in the order asked for
        - **score:** ``[L]``, as the scorer has it
    """

    source: Tensor
    target: Tensor
    score: Tensor


@torch.no_grad()
def missing_links(
    scores: PairScores,
    z: Tensor,
    graph: Graph,
    top: int,
    nodes: Tensor | None = None,
    exact: bool | None = None,
    incoming: bool = False,
) -> Links:
    """The ``top`` highest-scored non-neighbours of each node.

    Args:
        scores: scores of pairs and rows, with the graph's edges as messages.
        z: embeddings whose neighbours are candidates.
        graph: its edges are left out.
        top: links per node, at most.
        nodes: whose links; all nodes where it is ``None``.
        exact: whether to score every pair; decided by the number of pairs where it is ``None``.
        incoming: of a directed graph, links to each node instead of from it.

    Shapes:
        - **z:** ``[N, d]``
        - **nodes:** ``[n]``
    """
    check_top(top)
    asked = torch.arange(graph.num_nodes) if nodes is None else nodes
    products = asked.numel() * graph.num_nodes
    if products > MOST_PAIRS:
        raise InputError(
            f"links of {asked.numel():,} nodes in a graph of {graph.num_nodes:,} would compare "
            f"{products:,} pairs of embeddings, and {MOST_PAIRS:,} at most are: ask for fewer nodes"
        )
    if exact is None:
        exact = products <= EXACT_PAIRS
    search = _exact if exact else _by_candidates
    parts = list(search(scores, z, graph, top, asked, incoming))
    if not parts:
        empty = torch.empty(0, dtype=torch.long)
        return Links(empty, empty, torch.empty(0))
    ends, others, values = (torch.cat(column) for column in zip(*parts, strict=True))
    return Links(others, ends, values) if incoming else Links(ends, others, values)


def check_top(top: int) -> None:
    """Refuses what is no number of answers."""
    if not isinstance(top, int | np.integer) or top < 1:
        raise InputError(f"the number of links per node must be 1 at least, not {top}")


Part = tuple[Tensor, Tensor, Tensor]


def _exact(
    scores: PairScores, z: Tensor, graph: Graph, top: int, asked: Tensor, incoming: bool
) -> Iterator[Part]:
    top = min(int(top), graph.num_nodes - 1)
    for nodes in asked.split(max(1, CHUNK_NUMBERS // graph.num_nodes)):
        # [n, N]
        logits = row_scores(scores, nodes, incoming).cpu()
        logits[left_out(graph, nodes, incoming)] = -torch.inf
        best = logits.topk(top, dim=1)
        found = best.values > -torch.inf
        source = nodes.unsqueeze(1).expand_as(found)
        yield source[found], best.indices[found], best.values[found]


def _by_candidates(
    scores: PairScores, z: Tensor, graph: Graph, top: int, asked: Tensor, incoming: bool
) -> Iterator[Part]:
    count, lengths = max(CANDIDATES, 2 * top), z.norm(dim=1).clamp_(min=1e-12)
    for nodes in asked.split(max(1, 2**25 // graph.num_nodes)):
        rows, columns = _near(graph, nodes, count)
        # [N, n], but for the length of the asked nodes' vectors, which changes no order
        cosines = (z @ z[nodes].T).div_(lengths.unsqueeze(1)).T
        if graph.types is not None:
            cosines = cosines.masked_fill(graph.types.barred(nodes, incoming), -torch.inf)
        near = cosines.topk(min(count, graph.num_nodes), dim=1).indices
        rows = np.concatenate([rows, np.repeat(np.arange(nodes.numel()), near.shape[1])])
        columns = np.concatenate([columns, near.flatten().numpy()])
        unique = np.unique(rows * graph.num_nodes + columns)
        place = torch.from_numpy(unique // graph.num_nodes)
        pairs = torch.stack([nodes[place], torch.from_numpy(unique % graph.num_nodes)])
        edges = pairs.flip(0) if incoming else pairs
        missing = (pairs[0] != pairs[1]) & ~graph.has(edges)
        if graph.types is not None:
            missing &= graph.types.allow(edges)
        pairs = pairs[:, missing]
        yield _best(place[missing], pairs, scores.pairs(edges[:, missing]), top)


def _near(graph: Graph, nodes: Tensor, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each node the nodes two steps away that share most, as rows and columns.

    Three steps away where none that is two steps away may be joined to it, as between two sides.
    """
    first = graph.structure.csr.rows(nodes)
    two = _step(graph, _matrix(torch.ones(first.num_entries), first.indices, first.indptr, graph))
    rows, columns, worth = _strongest(two, count)
    if has_triangles(graph):
        return rows, columns
    found = sp.csr_array((worth, (rows, columns)), shape=two.shape)
    rows, columns, _ = _strongest(_step(graph, found), count)
    return rows, columns


def _step(graph: Graph, weights: sp.csr_array) -> sp.csr_array:
    """Weights of nodes after one step more, divided among their neighbours, ``[n, N]``."""
    middle, place = np.unique(weights.indices, return_inverse=True)
    rows = graph.structure.csr.rows(torch.from_numpy(middle).long())
    each = 1 / rows.counts().numpy().astype(np.float32)
    shape = (weights.shape[0], middle.size)
    near = sp.csr_array((weights.data * each[place], place, weights.indptr), shape=shape)
    return near @ _matrix(torch.ones(rows.num_entries), rows.indices, rows.indptr, graph)


def _strongest(
    weights: sp.csr_array, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """The largest entries of each row: rows, columns and values."""
    reached = weights.tocoo()
    order = np.lexsort((-reached.data, reached.row))
    rows, columns = reached.row[order].astype(np.int64), reached.col[order].astype(np.int64)
    starts = np.searchsorted(rows, np.arange(weights.shape[0]))
    kept = np.arange(rows.size) - starts[rows] < count
    return rows[kept], columns[kept], reached.data[order][kept]


def _matrix(values: Tensor, indices: Tensor, indptr: Tensor, graph: Graph) -> sp.csr_array:
    arrays = (values.numpy(), indices.numpy(), indptr.numpy())
    return sp.csr_array(arrays, shape=(indptr.numel() - 1, graph.num_nodes))


def _best(place: Tensor, pairs: Tensor, logits: Tensor, top: int) -> Part:
    """The ``top`` best pairs of each place, places ascending."""
    order = np.lexsort((-logits.numpy(), place.numpy()))
    ranked = place.numpy()[order]
    starts = np.searchsorted(ranked, ranked)
    kept = torch.from_numpy(order[np.arange(ranked.size) - starts < top])
    return pairs[0][kept], pairs[1][kept], logits[kept]
