"""Weights refitted on all edges: a run's network trained again, with nothing held out.

``fit`` trains on the edges that are left when some are held out, and answers with those weights
and with all edges as messages. The alternative is to train afresh on all edges for as many epochs
as were selected, and to keep the scorer's weights.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from maskgae.base.rng import Stream
from maskgae.evaluation.method import PairScores
from maskgae.evaluation.scorer import NETWORK, PairScorer, Scorer
from maskgae.run.run import Run
from maskgae.training import MaskGAEMethod

#: Random pairs by which the spread of two networks' logits is compared.
COMPARED = 2**16


def refitted(run: Run, epochs: int) -> PairScorer:
    """A run's scores by weights that were fitted on all of its edges for so many epochs."""
    whole = {"training.epochs": epochs, "training.patience": 0, "training.select": "last"}
    stream = Stream(run.settings.seed)
    fitted = MaskGAEMethod(run.settings.updated(whole)).fit(run.graph, None, stream)
    before, after = run.pair_scores.columns.network, fitted.on(run.graph)
    assert before is not None and after is not None
    drawn = torch.randint(run.graph.num_nodes, (2, COMPARED), generator=stream.at("refit").torch())
    return PairScorer.of(rescaled(run.scorer, before, after, drawn), run.graph, after)


def rescaled(scorer: Scorer, before: PairScores, after: PairScores, pairs: torch.Tensor) -> Scorer:
    r"""The scorer of another network, whose logit counts as the first one's did.

    With :math:`m, s` and :math:`m', s'` the mean and the spread of both networks' logits of the
    same pairs, a logit :math:`x'` of the other stands for :math:`m + (x' - m') s / s'`.
    """
    (mean, spread), (other, wide) = (
        (float(logits.mean()), max(1e-9, float(logits.std())))
        for logits in (scores.pairs(pairs).double() for scores in (before, after))
    )
    place, factor = scorer.columns.index(NETWORK), wide / spread
    means, spreads = list(scorer.mean), list(scorer.spread)
    means[place] = other + (means[place] - mean) * factor
    spreads[place] *= factor
    return replace(scorer, mean=tuple(means), spread=tuple(spreads))
