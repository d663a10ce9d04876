"""Layers of other libraries that are called with ``x`` and ``edge_index``, such as PyG's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream, isolated_rng
from maskgae.data.features import Features
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.convs import Conv


class EdgeIndexConv(Conv):
    """A foreign graph convolution as one of ours: whole graph, sampled blocks and chunks of rows.

    Edges have no weights there. In a sampled block a layer sees the block alone, so one that
    normalises by degrees, as GCN does, is approximate there.

    Args:
        conv: called as ``conv(x, edge_index)``.
        in_channels: width of its input, where it does not say so itself.
        out_channels: width of its output, all heads together, where it does not say so itself.

    >>> from torch_geometric.nn import GATv2Conv
    >>> EdgeIndexConv(GATv2Conv(8, 16, heads=2))
    EdgeIndexConv(GATv2Conv(8, 16, heads=2))
    """

    uses_weights = False

    def __init__(
        self, conv: nn.Module, in_channels: int | None = None, out_channels: int | None = None
    ) -> None:
        heads = int(getattr(conv, "heads", 1)) if getattr(conv, "concat", True) else 1
        own = (getattr(conv, "in_channels", None), getattr(conv, "out_channels", None))
        before = in_channels or own[0]
        after = out_channels or (isinstance(own[1], int) and heads * own[1])
        if not isinstance(before, int) or not after:
            raise InputError(
                f"{type(conv).__name__} does not say how wide it is: wrap it as "
                "EdgeIndexConv(conv, in_channels=..., out_channels=...)"
            )
        super().__init__(before, after, bias=False)
        self.conv = conv

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draws all weights anew where the layer knows how to."""
        seed = int(torch.randint(2**62, (1,), generator=generator))
        again: Any = getattr(self.conv, "reset_parameters", None)
        if again is not None:
            with isolated_rng(Stream(seed)):
                again()

    def multiplies(self, x: Features) -> bool:
        return False

    def aggregate(self, sent: Tensor, adjacency: Adjacency) -> Tensor:
        # Destinations come first among the sources, so a block is a graph on its sources.
        edge_index = torch.stack([adjacency.csr.indices.long(), adjacency.csr.row_of_entry()])
        out: Tensor = self.conv(sent, edge_index)[: adjacency.num_dst]
        return out

    def __repr__(self) -> str:
        return f"EdgeIndexConv({self.conv})"


def as_convs(layers: Sequence[nn.Module], in_channels: int) -> list[Conv]:
    """Layers of this package or of others as convolutions whose widths follow on one another."""
    convs = [layer if isinstance(layer, Conv) else EdgeIndexConv(layer) for layer in layers]
    widths = [(in_channels, in_channels)]
    widths += [(conv.in_channels, conv.heads * conv.out_channels) for conv in convs]
    for (_, before), (wanted, _) in pairwise(widths):
        if before != wanted:
            raise InputError(f"a layer takes {wanted} columns, but the one before gives {before}")
    return convs
