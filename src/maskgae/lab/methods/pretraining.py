"""Methods that train a network on a loss of its own and then embed.

A method's file gives a config and a :class:`Pretext`; this one trains it. No label and no held-out
pair is looked at: with a patience the epoch of the smallest training loss is kept, without one the
last, as in the published code of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from maskgae.base.rng import Stream
from maskgae.data.graph import Graph
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.lab.methods.layers import View
from maskgae.lab.methods.loop import Loop, Recipe, by_loss
from maskgae.lab.methods.vectors import FittedEmbedding, Untrained


class Pretext(nn.Module):
    """A network with a loss that needs no labels."""

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draws all weights anew; what draws nothing goes back to its first values."""
        for part in self.children():
            reset(part, generator)

    def begin(self, epoch: int) -> None:
        """Called before the loss of each update, by those that keep time."""

    def rate(self, epoch: int) -> float:
        """The share of the learning rate that an update has."""
        return 1.0

    def encode(self, view: View) -> Tensor:
        """The embedding, ``[N, d]``."""
        raise NotImplementedError

    def loss(self, view: View, stream: Stream) -> Tensor:
        """The loss of one update, whose draws come from the stream."""
        raise NotImplementedError


def reset(part: nn.Module, generator: torch.Generator) -> None:
    """Draws the weights of a part anew, and of the parts in a list."""
    if isinstance(part, nn.ModuleList):
        for each in part:
            reset(each, generator)
    elif isinstance(part, nn.PReLU | nn.BatchNorm1d):
        part.reset_parameters()
    elif any(True for _ in part.parameters()):
        part.reset_parameters(generator)  # type: ignore[operator]


@dataclass(frozen=True)
class Pretrained:
    """A pretext behind the contract of every method.

    Args:
        make: the network for a training graph and a config.
        config: with ``epochs``, ``lr``, ``weight_decay``, and ``patience`` where it may stop.
        device: where it is trained.
        view: how it sees a graph.
        decoupled: whether weights decay apart from the gradient, as in AdamW.
    """

    make: Callable[[View, Any], Pretext]
    config: Any
    device: str = "cpu"
    view: Callable[[Graph, str], View] = View.normalized
    decoupled: bool = False

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedEmbedding:
        view, config = self.view(graph, self.device), self.config
        net = self._net(view, stream)

        def step(epoch: int) -> Tensor:
            net.begin(epoch)
            return net.loss(view, stream.at("step", epoch))

        update, judge = by_loss(step)
        patience = getattr(config, "patience", 0)
        recipe = Recipe(
            config.epochs, config.lr, config.weight_decay, patience, decoupled=self.decoupled
        )
        loop = Loop(net, recipe, update, judge if patience else None, on_epoch, schedule=net.rate)
        facts = loop.run() | {"selection": "training loss" if patience else "last epoch"}
        return FittedEmbedding(lambda other: net.encode(self.view(other, self.device)), facts)

    def untrained(self, graph: Graph, stream: Stream) -> Untrained:
        """The network that a fit with the same stream starts from."""
        net = self._net(self.view(graph, self.device), stream).eval()
        return Untrained(lambda other: net.encode(self.view(other, self.device)).cpu())

    def _net(self, view: View, stream: Stream) -> Pretext:
        net = self.make(view, self.config)
        net.reset_parameters(stream.at("weights").torch())
        return net.to(self.device)
