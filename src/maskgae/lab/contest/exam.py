"""The exam: what every contestant is asked on one split, and how the answers are graded.

Messages pass along training edges alone, for all alike. The test's edges are told from even
non-edges (AUC, AP), ranked among all nodes from both ends, and some of them among hard negatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.base.settings import ProbeConfig
from maskgae.data.graph import Graph
from maskgae.data.labels import NodeSplit
from maskgae.data.splits import LinkSplit, joined, split_nodes
from maskgae.evaluation.ground import HARD_NODES
from maskgae.evaluation.hard import hard_metrics, hard_negatives
from maskgae.evaluation.method import PairScores
from maskgae.evaluation.metrics import link_metrics
from maskgae.evaluation.outcome import Metrics
from maskgae.evaluation.probe import probe
from maskgae.evaluation.ranking import full_ranking
from maskgae.lab.contest.graphs import Arena

#: Test edges that are ranked among hard negatives, at most, and the negatives of each.
HARD_PAIRS, HARD_NEGATIVES = 1_000, 500
#: Rows of scores that are laid out at a time.
ROWS = 64
#: Ends of validation edges on which a scorer is chosen, at most.
VALIDATION_ENDS = 1_000


@dataclass(frozen=True, eq=False)
class Exam:
    """One split of a graph.

    Args:
        graph: all edges that are known, none of which is a candidate.
        split: training, validation and test.
        stream: where samples of what is asked come from.
        public: whether the split is the one that everybody uses.
        validation: whether it serves a choice, and no test is looked at.
    """

    graph: Graph
    split: LinkSplit
    stream: Stream
    public: bool = False
    validation: bool = False

    @property
    def train(self) -> Graph:
        return self.split.train

    @cached_property
    def known(self) -> Graph:
        """Training and validation edges, which are no candidates at validation."""
        return joined(self.train, self.split.val, None)

    @cached_property
    def hard(self) -> tuple[Tensor, Tensor] | None:
        """Some test edges ``[2, P]`` and the hard negatives of each ``[2, P * K]``."""
        if self.graph.num_nodes > HARD_NODES:
            return None
        test, stream = self.split.test, self.stream.at("hard")
        order = torch.randperm(test.shape[1], generator=stream.torch())
        pairs = test[:, order[:HARD_PAIRS].sort().values]
        room = self.graph.num_nodes - 1 - int(self.graph.degrees[pairs].max())
        count = min(HARD_NEGATIVES, 2 * room)
        return pairs, hard_negatives(self.train, self.graph, pairs, count, stream)

    def grades(self, scores: PairScores) -> Metrics:
        """Every column of the table that scores of pairs can fill."""
        positive, negative = (
            scores.pairs(pairs).double().numpy()
            for pairs in (self.split.test, self.split.test_negatives)
        )
        found = link_metrics(positive, negative)
        names = ("auc", "ap", "hits@20") if self.public else ("auc", "ap")
        row = {name: found[name] for name in names}
        if self.hard is not None:
            asked, others = (off_rows(scores, pairs).numpy() for pairs in self.hard)
            row["hard_mrr"] = hard_metrics(asked, others.reshape(asked.size, -1))["hard_mrr"]
        ranking = self.stream.at("ranking")
        return row | full_ranking(scores.rows, self.split.test, self.graph, ranking).metrics()

    def validation_mrr(self, scores: PairScores) -> float:
        """Rank MRR of validation edges, by which a scorer is chosen."""
        stream, val = self.stream.at("validation"), self.split.val
        ranked = full_ranking(scores.rows, val, self.known, stream, VALIDATION_ENDS)
        return ranked.metrics()["rank_mrr"]

    def probed(self, embedding: Any) -> Metrics:
        """What a linear probe reads off an embedding ``[N, D]``, where there are labels.

        Random 10/10/80 of the nodes, also where there is a public split; the validation nodes take
        the place of the test nodes where no test is looked at.
        """
        labels = self.graph.labels
        if labels is None or embedding is None:
            return {}
        nodes = split_nodes(labels, self.stream.at("nodes"))
        if self.validation:
            nodes = NodeSplit(nodes.train, nodes.val, nodes.val)
        found = probe(embedding, labels, nodes, ProbeConfig(), self.stream.at("probe"))
        return {"accuracy": found["accuracy"]}


def off_rows(scores: PairScores, pairs: Tensor) -> Tensor:
    """Scores of many non-edges of few first ends, off the rows of these, ``[2, P] -> [P]``.

    Where a score is a product of wide vectors, a row costs as much as a few of its pairs.
    """
    ends, place = torch.unique(pairs[0], return_inverse=True)
    found = torch.empty(pairs.shape[1], dtype=torch.double)
    for at in torch.arange(ends.numel()).split(ROWS):
        here = ((place >= at[0]) & (place <= at[-1])).nonzero().squeeze(1)
        found[here] = scores.rows(ends[at])[place[here] - at[0], pairs[1, here]].double()
    return found


@lru_cache(maxsize=1)
def exam_of(arena: Arena, seed: int, validation: bool) -> Exam:
    """The exam of a seed, kept while one contestant after the other takes it."""
    graph, split = arena.split(seed, validation)
    stream = Stream(seed).at("contest")
    return Exam(graph, split, stream, arena.public is not None, validation)
