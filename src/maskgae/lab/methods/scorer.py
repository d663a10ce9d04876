r"""A scorer of pairs on any frozen embedding.

With :math:`z` the embedding, its columns centred and scaled to unit variance over the nodes of
the training graph, the logit of a pair is

.. math::
    s_{uv} = \mathrm{MLP}(z_u \odot z_v),

trained by cross-entropy on training pairs and on negative samples (non-edges) of the training
graph, and selected by validation AUC. At the test the embedding is that of the message graph,
scaled as in training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import DecoderConfig
from maskgae.data.graph import Graph
from maskgae.data.negatives import NonEdges
from maskgae.evaluation.method import (
    Embeds,
    Fitted,
    FittedScores,
    Method,
    OnEpoch,
    Scores,
    Validation,
)
from maskgae.lab.methods.loop import Loop, Recipe, link_judge
from maskgae.nn.decoders import MLP
from maskgae.nn.losses import bce, pair_logits, pair_loss
from maskgae.training.logits import PairLogits

#: Numbers in the products of one update's training pairs; where all pairs hold more, every
#: update sees others.
BATCH_NUMBERS = 2**22

RECIPE = Recipe(epochs=300, lr=0.01, weight_decay=5e-5, patience=50, every=5)
DECODER = DecoderConfig(hidden=64, layers=2, dropout=0.2)


@dataclass(frozen=True)
class FittedScorer:
    """A frozen embedding with a trained scorer of pairs.

    Shapes:
        - **centre**, **scale:** ``[D]``
    """

    inner: Embeds
    decoder: MLP
    centre: Tensor
    scale: Tensor
    facts: Mapping[str, Any]

    def embed(self, graph: Graph) -> Tensor:
        return self.inner.embed(graph)

    def score(self, graph: Graph, pairs: Tensor) -> Tensor:
        return self.on(graph).pairs(pairs)

    def on(self, graph: Graph) -> PairLogits:
        return PairLogits((self.inner.embed(graph) - self.centre) * self.scale, self.decoder)


@dataclass(frozen=True)
class WithScores:
    """A method that scores pairs: by itself, or else by an MLP on its frozen embedding.

    Args:
        method: whatever it offers.
        anew: whether the MLP scores even where the method does.
    """

    method: Method
    anew: bool = False

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedScores:
        fitted = self.method.fit(graph, validation, stream, on_epoch)
        if self.anew:
            return fit_scorer(fitted, graph, validation, stream.at("scorer"))
        return as_scorer(fitted, graph, validation, stream)


def as_scorer(
    fitted: Fitted, graph: Graph, validation: Validation | None, stream: Stream
) -> FittedScores:
    """What was fitted, where it scores pairs by itself; else a scorer on its embedding."""
    if isinstance(fitted, Scores):
        return cast(FittedScores, fitted)
    return fit_scorer(fitted, graph, validation, stream.at("scorer"))


def fit_scorer(
    fitted: Fitted, graph: Graph, validation: Validation | None, stream: Stream
) -> FittedScorer:
    """Trains a scorer on the frozen embedding of the training graph."""
    if not isinstance(fitted, Embeds):
        raise InputError("this method neither scores nor embeds: evaluate it on the node task")
    z = fitted.embed(graph).detach()
    centre, deviation = z.mean(0), z.std(0, correction=0)
    # A column that does not vary, such as that of a word nobody uses, says nothing.
    scale = torch.where(deviation > 1e-6, 1 / deviation.clamp(min=1e-6), 0.0)
    z = (z - centre) * scale
    decoder = MLP(z.shape[1], DECODER).to(z.device)
    decoder.reset_parameters(stream.at("weights").torch())
    non_edges, most = NonEdges(graph), max(1, BATCH_NUMBERS // z.shape[1])

    def update(epoch: int) -> Tensor:
        targets = _batch(graph.pairs, most, stream.at("batches", epoch)).to(z.device)
        negatives = non_edges.sample(targets.shape[1], stream.at("negatives", epoch))
        noise = stream.at("noise", epoch)
        return pair_loss(z, decoder, targets, negatives.to(z.device), bce, noise)

    judge = link_judge(lambda pairs: pair_logits(z, decoder, pairs.to(z.device)), validation)
    facts = Loop(decoder, RECIPE, update, judge).run()
    named = {f"scorer_{key}": value for key, value in facts.items()}
    return FittedScorer(fitted, decoder, centre, scale, {**fitted.facts, **named})


def _batch(pairs: Tensor, most: int, stream: Stream) -> Tensor:
    if pairs.shape[1] <= most:
        return pairs
    order = torch.randperm(pairs.shape[1], generator=stream.torch())
    return pairs[:, order[:most].sort().values]
