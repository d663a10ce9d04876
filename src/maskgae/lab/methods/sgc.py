"""SGC features (smoothed twice) as an embedding: nothing is learnt.

The simplified graph convolution of Wu et al. (ICML 2019). It only embeds, so links are scored by
the scorer that every frozen embedding gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.data.graph import Graph
from maskgae.evaluation.heuristics import propagated_features
from maskgae.evaluation.method import OnEpoch, Validation


@dataclass(frozen=True)
class SGC:
    """The features averaged over ``hops`` steps; it is its own fit, having nothing to learn."""

    hops: int = 2
    facts: Mapping[str, Any] = field(default_factory=dict)

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> SGC:
        return self

    def embed(self, graph: Graph) -> Tensor:
        return torch.from_numpy(propagated_features(graph, self.hops))
