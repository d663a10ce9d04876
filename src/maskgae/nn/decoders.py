r"""Decoders: from node embeddings to logits of pairs and to degrees.

=======  =====================================================================
``mlp``  :math:`\mathrm{MLP}(z_u \odot z_v)`, the paper's structure decoder
``dot``  :math:`z_u^\top z_v`
degree   :math:`\mathrm{MLP}(z_v)`, the paper's degree decoder
=======  =====================================================================

Pair decoders take the element-wise product, which their caller gathers, and return logits. In a
directed graph a node has two rows, :math:`S z` as a source and :math:`T z` as a target
(:class:`Ends`), and the pair :math:`u \to v` is decoded from :math:`S z_u \odot T z_v`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from maskgae.base.dropout import dropout
from maskgae.base.rng import Stream
from maskgae.base.settings import DecoderConfig
from maskgae.nn.linear import Linear


class MLP(nn.Module):
    r"""Linear layers with ReLU between them and one number at the end.

    Args:
        in_channels: width of the input.
        config: depth, width and dropout, which precedes every layer but the last.

    Shapes:
        - **input:** ``[n, in_channels]``
        - **output:** ``[n]``
    """

    def __init__(self, in_channels: int, config: DecoderConfig) -> None:
        super().__init__()
        widths = [in_channels] + [config.hidden] * (config.layers - 1) + [1]
        self.layers = nn.ModuleList(Linear(a, b) for a, b in pairwise(widths))
        self.dropout = config.dropout

    def reset_parameters(self, generator: torch.Generator) -> None:
        for layer in self.layers:
            layer.reset_parameters(generator)  # type: ignore[operator]

    def forward(self, x: Tensor, stream: Stream | None = None) -> Tensor:
        for level, layer in enumerate(self.layers[:-1]):
            if stream is not None:
                x = dropout(x, self.dropout, stream.at(level))
            x = layer(x).relu()
        return self.layers[-1](x).squeeze(1)

    def table(self, z: Tensor, others: Tensor) -> Tensor:
        r"""Logits of some nodes against others, without dropout: ``[n, d], [m, d] -> [n, m]``.

        :math:`(z_u \odot z_v) W = z_v\, \mathrm{diag}(z_u) W`, so the first layer of all pairs is
        one product.
        """
        first: Any = self.layers[0]
        # [d, n * h]
        weight = (z.T.unsqueeze(2) * first.weight.unsqueeze(1)).flatten(1)
        # [m * n, h]
        x = torch.addmm(first.bias.repeat(z.shape[0]), others, weight).view(-1, first.out_channels)
        for layer in self.layers[1:]:
            x = layer(x.relu_())
        return x.view(-1, z.shape[0]).T


class Dot(nn.Module):
    r"""The inner product, from the element-wise one: ``[n, d] -> [n]``."""

    def reset_parameters(self, generator: torch.Generator) -> None:
        """There is nothing to draw."""

    def forward(self, x: Tensor, stream: Stream | None = None) -> Tensor:
        return x.sum(1)

    def table(self, z: Tensor, others: Tensor) -> Tensor:
        return z @ others.T


class Ends(nn.Module):
    """Two rows a node, as a source and as a target: ``[N, d] -> [2 N, d]``, sources first."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.source, self.target = Linear(width, width), Linear(width, width)

    def reset_parameters(self, generator: torch.Generator) -> None:
        self.source.reset_parameters(generator)
        self.target.reset_parameters(generator)

    def forward(self, z: Tensor) -> Tensor:
        return torch.cat([self.source(z), self.target(z)])


def pair_decoder(in_channels: int, config: DecoderConfig) -> MLP | Dot:
    """The decoder of pairs that the configuration names."""
    return MLP(in_channels, config) if config.kind == "mlp" else Dot()
