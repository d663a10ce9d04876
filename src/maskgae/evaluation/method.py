"""The contract between a method and its evaluation.

A :class:`Method` is fitted on a training graph and returns a :class:`Fitted` that offers any of
three things: to embed the nodes of a graph, to score pairs, to classify nodes. MaskGAE is one
method and every baseline is another; evaluation sees only what they return, on the same split,
negatives and probe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.data.graph import Graph

#: A callback: called after each epoch with its row of the history.
OnEpoch = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Validation:
    """Held-out pairs and non-edges on which a training is stopped, ``[2, V]`` each.

    ``messages`` is the graph that they are scored on, where it is not that of training. ``hard``
    are the hard negatives of each pair, ``[2, V, K]``, where an epoch is chosen by them.
    """

    pairs: Tensor
    negatives: Tensor
    messages: Graph | None = None
    hard: Tensor | None = None


class Fitted(Protocol):
    """What a method has learnt, with a few facts for the record."""

    @property
    def facts(self) -> Mapping[str, Any]: ...


@runtime_checkable
class Embeds(Protocol):
    def embed(self, graph: Graph) -> Tensor:
        """The node embeddings, one row per node, ``[N, D]``."""


@runtime_checkable
class Scores(Protocol):
    def score(self, graph: Graph, pairs: Tensor) -> Tensor:
        """A logit for each pair, ``[2, P] -> [P]``, with the graph's edges as messages."""


@runtime_checkable
class Classifies(Protocol):
    def classify(self, graph: Graph) -> Tensor:
        """A class for each node, ``[N]``."""


class Method(Protocol):
    """A way to learn from a graph."""

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> Fitted:
        """Learns from the training graph, stopping on the validation pairs where there are any."""


class PairScores(Protocol):
    """Scores of pairs on one message graph, which is encoded once."""

    def pairs(self, pairs: Tensor) -> Tensor:
        """Logits of pairs, ``[2, P] -> [P]``."""

    def rows(self, nodes: Tensor) -> Tensor:
        """Logits of nodes against all nodes, ``[n] -> [n, N]``."""


class DirectedScores(PairScores, Protocol):
    """The same in a directed graph, where links go from nodes or to them."""

    def rows(self, nodes: Tensor, incoming: bool = False) -> Tensor:
        """Logits of edges to all nodes, or from all nodes, ``[n] -> [n, N]``."""


def row_scores(scores: PairScores, nodes: Tensor, incoming: bool) -> Tensor:
    """Logits of nodes against all nodes, whichever way is asked for."""
    return cast(DirectedScores, scores).rows(nodes, True) if incoming else scores.rows(nodes)


@runtime_checkable
class Opens(Protocol):
    def on(self, graph: Graph) -> PairScores | None:
        """The scores with a graph's edges as messages; none where nothing was trained."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """Whatever scores pairs, asked for rows pair by pair."""

    fitted: Scores
    graph: Graph

    def pairs(self, pairs: Tensor) -> Tensor:
        return self.fitted.score(self.graph, pairs)

    def rows(self, nodes: Tensor, incoming: bool = False) -> Tensor:
        count = self.graph.num_nodes
        every = torch.arange(count).repeat(nodes.numel())
        pairs = torch.stack([nodes.repeat_interleave(count), every])
        pairs = pairs.flip(0) if incoming else pairs
        return self.pairs(pairs).view(nodes.numel(), count)


def opened(fitted: Scores, graph: Graph) -> PairScores | None:
    """The scores of what was fitted on one message graph; none where nothing was trained."""
    return fitted.on(graph) if isinstance(fitted, Opens) else _Asked(fitted, graph)


class FittedScores(Fitted, Scores, Protocol):
    """Something fitted that scores pairs."""


@runtime_checkable
class AsksFew(Protocol):
    """Something fitted to which a pair is dear."""

    @property
    def ranked_ends(self) -> int:
        """How many ends it is asked among all nodes at most."""


def ranked_ends(fitted: Fitted) -> int | None:
    """How many ends a ranking asks, or ``None`` for as many as it likes."""
    return fitted.ranked_ends if isinstance(fitted, AsksFew) else None


class Network(Protocol):
    """A network before its first step."""

    def embed(self, graph: Graph, nodes: Tensor | None = None) -> Tensor:
        """The embeddings of all nodes or of some."""


@runtime_checkable
class Starts(Protocol):
    def untrained(self, graph: Graph, stream: Stream) -> Network:
        """The network that a fit starts from: what its shape alone is worth."""
