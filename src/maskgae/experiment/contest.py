"""The contest of the link task: the same pairs to score for every row of one run."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from maskgae.evaluation.hard import hard_metrics, hard_negatives
from maskgae.evaluation.metrics import link_metrics
from maskgae.experiment.judge import Metrics
from maskgae.graph.graph import Graph
from maskgae.graph.pairs import pair_keys
from maskgae.graph.splits import LinkSplit
from maskgae.rng import Stream

#: Above this many nodes no hard negatives are looked for: every end is compared with every node.
HARD_NODES = 50_000


@dataclass(frozen=True)
class Contest:
    """Test pairs, non-edges drawn evenly and, where asked for, each pair's own hard ones.

    Args:
        pairs: what is scored: first the ``positives`` test pairs, then the ``negatives`` even
            ones, then the distinct hard ones.
        positives: how many test pairs there are.
        negatives: how many even non-edges there are.
        hard: where each test pair's hard negatives stand among the distinct ones.

    Shapes:
        - **pairs:** ``[2, positives + negatives + distinct]``
        - **hard:** ``[positives, K]``
    """

    pairs: Tensor
    positives: int
    negatives: int
    hard: Tensor | None = None

    @classmethod
    def of(
        cls, split: LinkSplit, whole: Graph, messages: Graph, hard: int, stream: Stream
    ) -> Contest:
        """The contest on a split, with ``hard`` negatives a test pair."""
        pairs, count = [split.test, split.test_negatives], split.test.shape[1]
        places = None
        if hard and whole.num_nodes <= HARD_NODES:
            found = hard_negatives(messages, whole, split.test, hard, stream)
            # An end of many test pairs keeps the same partners in all of them: scored once.
            keys, place = torch.unique(pair_keys(found, whole.num_nodes), return_inverse=True)
            pairs.append(torch.stack([keys // whole.num_nodes, keys % whole.num_nodes]))
            places = place.view(count, hard)
        return cls(torch.cat(pairs, dim=1), count, split.test_negatives.shape[1], places)

    def row(self, scores: Tensor) -> Metrics:
        """The metrics of the scores of all pairs."""
        sizes = [self.positives, self.negatives]
        values = scores.double().cpu()
        positive, negative, rest = values.split([*sizes, values.numel() - sum(sizes)])
        row = link_metrics(positive.numpy(), negative.numpy())
        if self.hard is not None:
            row |= hard_metrics(positive.numpy(), rest[self.hard].numpy())
        return row
