"""What a trained encoder offers: embeddings, and for some their inner products as logits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from maskgae.data.graph import Graph
from maskgae.nn.decoders import Dot
from maskgae.training.logits import PairLogits


@dataclass(frozen=True)
class FittedEmbedding:
    """A trained encoder that only embeds: links are scored by the scorer of frozen embeddings.

    Args:
        encode: the embeddings of a graph's nodes, without dropout.
        facts: how it was trained.
    """

    encode: Callable[[Graph], Tensor]
    facts: Mapping[str, Any]

    @torch.no_grad()
    def embed(self, graph: Graph) -> Tensor:
        return self.encode(graph)


@dataclass(frozen=True)
class FittedVectors(FittedEmbedding):
    """A trained encoder with an inner-product decoder."""

    def score(self, graph: Graph, pairs: Tensor) -> Tensor:
        return self.on(graph).pairs(pairs)

    def on(self, graph: Graph) -> PairLogits:
        return PairLogits(self.embed(graph), Dot())


@dataclass(frozen=True)
class Untrained:
    """An encoder before its first step.

    Args:
        encode: the embeddings of a graph's nodes.
    """

    encode: Callable[[Graph], Tensor]

    @torch.no_grad()
    def embed(self, graph: Graph, nodes: Tensor | None = None) -> Tensor:
        z = self.encode(graph)
        return z if nodes is None else z[nodes]
