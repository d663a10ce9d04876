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
from maskgae.lab.methods.vectors import FittedEmbedding


class Pretext(nn.Module):
    """A network with a loss that needs no labels."""

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draws all weights anew; activations with weights go back to their first values."""
        for part in self.children():
            _reset(part, generator)

    def encode(self, view: View) -> Tensor:
        """The embedding, ``[N, d]``."""
        raise NotImplementedError

    def loss(self, view: View, stream: Stream) -> Tensor:
        """The loss of one update, whose draws come from the stream."""
        raise NotImplementedError


def _reset(part: nn.Module, generator: torch.Generator) -> None:
    if isinstance(part, nn.PReLU):
        part.reset_parameters()
    elif isinstance(part, nn.ModuleList):
        for each in part:
            _reset(each, generator)
    elif any(True for _ in part.parameters()):
        part.reset_parameters(generator)  # type: ignore[operator]


@dataclass(frozen=True)
class Pretrained:
    """A pretext behind the contract of every method.

    Args:
        make: the network for a training graph and a config.
        config: with ``epochs``, ``lr``, ``weight_decay`` and ``patience``.
        device: where it is trained.
    """

    make: Callable[[View, Any], Pretext]
    config: Any
    device: str = "cpu"

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedEmbedding:
        view, config = View.normalized(graph, self.device), self.config
        net = self.make(view, config)
        net.reset_parameters(stream.at("weights").torch())
        net.to(self.device)
        recipe = Recipe(config.epochs, config.lr, config.weight_decay, config.patience)
        update, judge = by_loss(lambda epoch: net.loss(view, stream.at("step", epoch)))
        loop = Loop(net, recipe, update, judge if config.patience else None, on_epoch)
        facts = loop.run() | {"selection": "training loss" if config.patience else "last epoch"}
        return FittedEmbedding(lambda other: net.encode(View.normalized(other, self.device)), facts)
