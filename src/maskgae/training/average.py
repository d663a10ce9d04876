"""The exponential moving average (EMA) of a network's weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Average:
    r"""Keeps :math:`\bar\theta \leftarrow d\, \bar\theta + (1 - d)\, \theta` beside a network.

    Statistics of batch normalisation are averaged like weights. In the first steps the decay
    :math:`d` is lowered to :math:`(1 + t) / (10 + t)`, so that the start is soon forgotten.
    """

    def __init__(self, net: nn.Module, decay: float) -> None:
        self.decay, self.steps = decay, 0
        self.state = {name: value.detach().clone() for name, value in net.state_dict().items()}

    @torch.no_grad()
    def update(self, net: nn.Module) -> None:
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        for name, value in net.state_dict().items():
            if value.is_floating_point():
                self.state[name].lerp_(value, 1 - decay)
            else:
                self.state[name].copy_(value)

    def swap(self, net: nn.Module) -> None:
        """Exchanges the network's weights with their average."""
        own: dict[str, Tensor] = {k: v.detach().clone() for k, v in net.state_dict().items()}
        net.load_state_dict(self.state)
        self.state = own
