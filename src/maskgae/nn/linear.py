"""Weights, drawn from a given generator."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from maskgae.base.matmul import matmul


class Linear(nn.Module):
    r"""An affine map :math:`X W + b` whose weights are drawn by Glorot and Bengio's rule.

    Unlike ``torch.nn.Linear`` it stores ``[in, out]``, so that the product with sparse rows picks
    whole rows of it, and it draws nothing when it is made: :meth:`reset_parameters` takes the
    generator to draw from.
    """

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.weight = nn.Parameter(torch.zeros(in_channels, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def reset_parameters(self, generator: torch.Generator) -> None:
        glorot(self.weight, generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        out = matmul(x, self.weight)
        return out if self.bias is None else out.add_(self.bias)

    def __repr__(self) -> str:
        return f"Linear({self.in_channels}, {self.out_channels})"


def glorot(weight: Tensor, generator: torch.Generator) -> None:
    r"""Fills a matrix from :math:`U(-a, a)` with :math:`a = \sqrt{6 / (in + out)}`."""
    bound = math.sqrt(6 / (weight.shape[-2] + weight.shape[-1]))
    nn.init.uniform_(weight, -bound, bound, generator=generator)
