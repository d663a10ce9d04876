"""MaskGAE's encoder before its first step, by the cosine of its embeddings.

It is the row *untrained encoder* of every table as a method, so that it can be combined with the
rules as a trained network is: what training adds is the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.nn.decoders import Dot
from maskgae.nn.network import MaskGAENet
from maskgae.training import MaskGAEMethod
from maskgae.training.logits import PairLogits


@dataclass(frozen=True)
class FittedUntrained:
    """A network as it was drawn."""

    net: MaskGAENet
    facts: Mapping[str, Any] = field(default_factory=dict)

    def embed(self, graph: Graph) -> Tensor:
        return self.net.embed(graph)

    def score(self, graph: Graph, pairs: Tensor) -> Tensor:
        return self.on(graph).pairs(pairs)

    def on(self, graph: Graph) -> PairLogits:
        return PairLogits(F.normalize(self.embed(graph), dim=1), Dot())


@dataclass(frozen=True)
class UntrainedEncoder:
    """Draws the weights that MaskGAE starts from with the same settings, and leaves them."""

    settings: Settings
    device: str = "cpu"

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedUntrained:
        return FittedUntrained(self.untrained(graph, stream))

    def untrained(self, graph: Graph, stream: Stream) -> MaskGAENet:
        return MaskGAEMethod(self.settings, self.device).untrained(graph, stream)
