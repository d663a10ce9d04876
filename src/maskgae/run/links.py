"""Missing links: for each node the pairs that the scorer likes best.

On small graphs every pair is scored. On larger ones :mod:`~maskgae.run.candidates` are, whether all
nodes are asked about or one; how many of the best they miss is measured on a sample of the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.base.sizes import CACHE_PAIRS, CHUNK_NUMBERS
from maskgae.data.graph import Graph
from maskgae.evaluation.method import PairScores, row_scores
from maskgae.evaluation.ranking import left_out
from maskgae.run.candidates import ELSEWHERE, NEAR, Candidates

#: Up to this many ordered pairs of nodes all are scored.
EXACT_PAIRS = 100_000_000
#: Nodes on which the recall of candidates is measured, and scores that this may take, but for
#: five nodes.
SAMPLED_NODES, SAMPLED_SCORES = 100, 2**23


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


@dataclass(frozen=True)
class Recall:
    """How many of the best links were among the candidates.

    Args:
        share: of the links that scoring all nodes finds.
        nodes: on how many nodes that was measured.
        top: how many links of each.
    """

    share: float
    nodes: int
    top: int


class LinkSearch:
    """Missing links by one scorer, among all pairs of a small graph or among candidates.

    Args:
        scores: scores of pairs and rows, with the graph's edges as messages.
        z: embeddings whose neighbours are candidates.
        graph: its edges are left out.
    """

    def __init__(self, scores: PairScores, z: Tensor, graph: Graph) -> None:
        self.scores, self.z, self.graph = scores, z, graph
        self._last: tuple[tuple[int, bool, bool], Candidates] | None = None

    def links(
        self, top: int, nodes: Tensor | None = None, incoming: bool = False, index: bool = False
    ) -> Links:
        """The best missing links of each node, see :func:`missing_links`.

        With ``index`` they are looked for among candidates, of small graphs too.
        """
        where = self.candidates(nodes, incoming, index)
        return missing_links(self.scores, self.graph, top, nodes, where, incoming)

    def recall(
        self, top: int, nodes: Tensor | None = None, incoming: bool = False, index: bool = False
    ) -> Recall | None:
        """What share of the best links is among the candidates, where there are any."""
        where = self.candidates(nodes, incoming, index)
        return measured_recall(self.scores, self.graph, where, top) if where else None

    def candidates(
        self, nodes: Tensor | None = None, incoming: bool = False, index: bool = False
    ) -> Candidates | None:
        """Where links of nodes are looked for; ``None`` where every pair is scored."""
        if not index and self.graph.num_nodes**2 <= EXACT_PAIRS:
            return None
        key = self.graph.num_nodes if nodes is None else nodes.numel(), incoming, index
        if self._last is None or self._last[0] != key:
            self._last = key, Candidates(self.scores, self.z, self.graph, *key)
        return self._last[1]


@torch.no_grad()
def missing_links(
    scores: PairScores,
    graph: Graph,
    top: int,
    nodes: Tensor | None = None,
    candidates: Candidates | None = None,
    incoming: bool = False,
) -> Links:
    """The ``top`` highest-scored non-neighbours of each node.

    Args:
        scores: scores of pairs and rows, with the graph's edges as messages.
        graph: its edges are left out.
        top: links per node, at most.
        nodes: whose links; all nodes where it is ``None``.
        candidates: where to look for them; every pair is scored where it is ``None``.
        incoming: of a directed graph, links to each node instead of from it.

    Shapes:
        - **nodes:** ``[n]``
    """
    check_top(top)
    asked = torch.arange(graph.num_nodes) if nodes is None else nodes
    if candidates is None:
        parts = list(_exact(scores, graph, top, asked, incoming))
    else:
        parts = list(_by_candidates(scores, candidates, top, asked))
    if not parts:
        empty = torch.empty(0, dtype=torch.long)
        return Links(empty, empty, torch.empty(0))
    ends, others, values = (torch.cat(column) for column in zip(*parts, strict=True))
    return Links(others, ends, values) if incoming else Links(ends, others, values)


def measured_recall(
    scores: PairScores,
    graph: Graph,
    candidates: Candidates,
    top: int = 10,
    nodes: Tensor | None = None,
) -> Recall:
    """How many of the best links the candidates hold, on a sample of the nodes or on given ones."""
    if nodes is None:
        count = min(SAMPLED_NODES, max(5, SAMPLED_SCORES // graph.num_nodes))
        order = torch.randperm(graph.num_nodes, generator=stream(0, "recall").torch())
        nodes = order[:count].sort().values
    exact, found = (
        missing_links(scores, graph, top, nodes, where, candidates.incoming)
        for where in (None, candidates)
    )
    wanted, there = (
        (links.source * graph.num_nodes + links.target).numpy() for links in (exact, found)
    )
    share = float(np.isin(wanted, there).mean()) if wanted.size else 1.0
    return Recall(share, nodes.numel(), top)


def check_top(top: int) -> None:
    """Refuses what is no number of answers."""
    if not isinstance(top, int | np.integer) or top < 1:
        raise InputError(f"the number of links per node must be 1 at least, not {top}")


Part = tuple[Tensor, Tensor, Tensor]


def _exact(
    scores: PairScores, graph: Graph, top: int, asked: Tensor, incoming: bool
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
    scores: PairScores, candidates: Candidates, top: int, asked: Tensor
) -> Iterator[Part]:
    for nodes in asked.split(max(1, 4 * CACHE_PAIRS // (NEAR + ELSEWHERE + 5 * top))):
        place, pairs = candidates.of(nodes, top)
        edges = pairs.flip(0) if candidates.incoming else pairs
        yield _best(place, pairs, scores.pairs(edges).cpu(), top)


def _best(place: Tensor, pairs: Tensor, logits: Tensor, top: int) -> Part:
    """The ``top`` best pairs of each place, places ascending."""
    order = np.lexsort((-logits.numpy(), place.numpy()))
    ranked = place.numpy()[order]
    starts = np.searchsorted(ranked, ranked)
    kept = torch.from_numpy(order[np.arange(ranked.size) - starts < top])
    return pairs[0][kept], pairs[1][kept], logits[kept]
