"""Where updates come from: an epoch's mask, cut into steps."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from maskgae.config import Settings
from maskgae.graph.graph import Graph
from maskgae.graph.negatives import NonEdges
from maskgae.masking.mask import Masked, draw_mask
from maskgae.model import MaskGAENet, Step
from maskgae.nn.adjacency import Adjacency
from maskgae.rng import Stream


class Steps:
    """Draws the mask and the non-edges of every epoch of a training on a graph.

    Args:
        graph: the training graph; nothing that is held out is in it.
        settings: mask, objective and batches.
        stream: the root of the run's randomness.
    """

    def __init__(self, graph: Graph, settings: Settings, stream: Stream) -> None:
        self.graph, self.settings, self.stream = graph, settings, stream
        self.non_edges = NonEdges(graph)

    def mask(self, epoch: int) -> Masked:
        """The mask of an epoch, the same whenever and wherever it is asked for."""
        layers = self.settings.encoder.layers
        return draw_mask(self.graph, self.settings.mask, layers, self.stream.at("mask", epoch))

    def negatives(self, count: int, epoch: int, step: int) -> Tensor:
        """Non-edges of the training graph for ``count`` targets, ``[2, count * k]``."""
        stream = self.stream.at("negatives", epoch, step)
        drawn = self.non_edges.sample(count * self.settings.objective.negatives, stream)
        if self.settings.objective.loss == "bce":
            return drawn  # sorted, which makes gathers fast; here no target owns its negatives
        order = torch.randperm(drawn.shape[1], generator=stream.at("order").torch())
        return drawn[:, order]

    def batches(self, masked: Masked, epoch: int) -> Iterator[Tensor]:
        """The targets of each update of an epoch, as indices of pairs."""
        size = self.settings.training.batch_pairs
        if size == 0 or size >= masked.targets.numel():
            yield masked.targets
            return
        generator = self.stream.at("batches", epoch).torch()
        shuffled = masked.targets[torch.randperm(masked.targets.numel(), generator=generator)]
        for batch in shuffled.split(size):
            yield batch.sort().values

    def epoch(self, net: MaskGAENet, masked: Masked, epoch: int, first: int = 0) -> Iterator[Step]:
        """The steps of an epoch on the whole visible graph, from the ``first`` on."""
        device = next(net.parameters()).device
        features = None if self.graph.features is None else self.graph.features.to(device)
        adjacency = Adjacency.of(self.graph, masked.visible).to(device)
        adjacencies = [adjacency] * self.settings.encoder.layers
        for number, batch in enumerate(self.batches(masked, epoch)):
            if number < first:
                continue
            yield Step(
                x=net.encoder.input(features),
                adjacencies=adjacencies,
                targets=self.graph.pairs[:, batch].to(device),
                negatives=self.negatives(batch.numel(), epoch, number).to(device),
                degrees=masked.degrees.to(device),
            )
