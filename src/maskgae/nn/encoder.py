"""The encoder: a stack of graph convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import EncoderConfig
from maskgae.data.features import LARGE, DenseFeatures, Features, JoinedFeatures
from maskgae.nn.activations import ELU, activation
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.convs import CONVS, Conv, GCNConv
from maskgae.nn.edge_index import as_convs
from maskgae.nn.linear import glorot
from maskgae.nn.wide import Spare, WideLayer


class Encoder(nn.Module):
    r"""Maps the visible graph to node embeddings, layer by layer.

    .. math::
        H^{(l)} = \sigma(\mathrm{norm}(\mathrm{conv}^{(l)}(\mathrm{dropout}(H^{(l-1)}), A)))

    with :math:`H^{(0)}` the features. As in the published code, the last layer is normalised and
    activated like the others.

    Args:
        in_channels: width of the features, 0 where there are none.
        config: kind, depth and widths.
        num_nodes: needed for learnable node embeddings only.
        convs: the layers themselves, instead of what ``config`` says of them: ours, or any that
            is called with ``x`` and ``edge_index``, such as PyG's.

    Shapes:
        - **input:** features ``[n_0, in_channels]`` and one adjacency a layer, ``[n_l, n_{l-1}]``
        - **output:** one tensor a layer, ``[n_l, width]``
    """

    def __init__(
        self,
        in_channels: int,
        config: EncoderConfig,
        num_nodes: int = 0,
        convs: Sequence[nn.Module] = (),
    ) -> None:
        super().__init__()
        if in_channels + config.node_embedding == 0 and config.kind != "none":
            raise InputError(
                "the graph has no features: give some, or set encoder.node_embedding to the width "
                "of a learnable embedding per node, such as 128"
            )
        self.config = config
        self.in_channels = in_channels
        self.embedding: nn.Parameter | None = None
        if config.node_embedding and config.kind != "none":
            self.embedding = nn.Parameter(torch.zeros(num_nodes, config.node_embedding))
        width = in_channels + config.node_embedding
        layers = as_convs(convs, width) if convs else _convs(width, config)
        widths = [conv.heads * conv.out_channels for conv in layers]
        self.convs = nn.ModuleList(layers)
        self.norms = nn.ModuleList(_norm(config.norm, width) for width in widths)
        self.activations = nn.ModuleList(activation(config.activation) for _ in widths)
        self.widths = widths
        self.spare = Spare()

    def train(self, mode: bool = True) -> Encoder:
        self.spare.clear()
        return super().train(mode)

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draws all weights anew."""
        if self.embedding is not None:
            glorot(self.embedding, generator)
        for conv in self.convs:
            conv.reset_parameters(generator)  # type: ignore[operator]
        for part in (*self.norms, *self.activations):
            if hasattr(part, "reset_parameters"):  # to constants, so nothing is drawn
                part.reset_parameters()

    def input(self, features: Features | None, nodes: Tensor | None = None) -> Features:
        """What the first layer sees: features, learnable embeddings of the given nodes, or both."""
        columns = 0 if features is None else features.num_columns
        if columns != self.in_channels:
            raise InputError(
                f"the network takes features of {self.in_channels:,} columns, but the graph has "
                f"{columns:,}: give it the features it was made for"
            )
        if self.embedding is None:
            assert features is not None
            return features
        vectors = self.embedding if nodes is None else self.embedding[nodes]
        learnt = DenseFeatures(vectors)
        return learnt if features is None else JoinedFeatures([features, learnt])

    def forward(
        self, x: Features, adjacencies: Sequence[Adjacency], stream: Stream | None = None
    ) -> list[Tensor]:
        """All layers' outputs; with a ``stream`` dropout is on and draws from it."""
        outputs: list[Tensor] = []
        for level, adjacency in enumerate(adjacencies):
            out = self.layer(level, x, adjacency, stream)
            outputs.append(out)
            x = DenseFeatures(out)
        return outputs

    def last(self, x: Features, adjacencies: Sequence[Adjacency], stream: Stream) -> Tensor:
        """The last layer's output in training, ``[n_L, width]``, with dropout from the stream.

        What dropout leaves of a wide layer is all that is made of it.
        """
        rate = self.config.dropout
        x = x.dropout(rate, stream.at("encoder", 0))
        for level, adjacency in enumerate(adjacencies):
            after = None if level + 1 == len(adjacencies) else stream.at("encoder", level + 1)
            if self._is_wide(level, x, adjacency):
                conv: Any = self.convs[level]
                norm: Any = self.norms[level]
                rows = x.around(adjacency)
                x = WideLayer(rows, conv.lin.weight, norm, rate, after, self.spare)
            else:
                x = DenseFeatures(self.finish(level, self.convs[level](x, adjacency)))
                x = x if after is None else x.dropout(rate, after)
        return x.dense()

    def _is_wide(self, level: int, x: Features, adjacency: Adjacency) -> bool:
        """Whether a layer's output is what its time goes into, and :mod:`.wide` can make it."""
        parts = (self.convs[level], self.norms[level], self.activations[level])
        kinds = (GCNConv, nn.BatchNorm1d, ELU)
        width = self.widths[level]
        return (
            self.training
            and all(type(part) is kind for part, kind in zip(parts, kinds, strict=True))
            and x.message_width < width
            and adjacency.num_dst * width >= LARGE
            and isinstance(x, DenseFeatures)
            and x.fixed
        )

    def layer(
        self, level: int, x: Features, adjacency: Adjacency, stream: Stream | None = None
    ) -> Tensor:
        """One layer: dropout, convolution, normalisation, activation."""
        if stream is not None:
            x = x.dropout(self.config.dropout, stream.at("encoder", level))
        return self.finish(level, self.convs[level](x, adjacency))

    def finish(self, level: int, out: Tensor) -> Tensor:
        """Normalisation and activation of what a layer's convolution gave."""
        result: Tensor = self.activations[level](self.norms[level](out))
        return result


def readout(parts: Sequence[Tensor], normalize: str) -> Tensor:
    """The embedding from its parts side by side, ``[N, d]`` each, rows scaled or not."""
    if normalize == "l2_each":
        parts = [F.normalize(part, dim=1) for part in parts]
    z = torch.cat(list(parts), dim=1)
    return F.normalize(z, dim=1) if normalize == "l2" else z


def _convs(in_channels: int, config: EncoderConfig) -> list[Conv]:
    if config.kind == "none":
        return []
    attention = config.kind == "gat"
    if attention and config.layers > 1 and config.hidden % config.heads:
        raise InputError(
            f"encoder.hidden = {config.hidden} must be a multiple of encoder.heads = {config.heads}"
        )
    convs, width = [], in_channels
    for level in range(config.layers):
        last = level == config.layers - 1
        heads = config.heads if attention and not last else 1
        out = config.dim if last else config.hidden // heads
        # Batch norm takes the mean away, and any bias with it: its gradient would be rounding
        # errors alone, of which Adam makes steps as large as any other.
        bias = config.norm != "batch"
        convs.append(CONVS[config.kind](width, out, heads=heads, bias=bias))
        width = heads * out
    return convs


def _norm(kind: str, width: int) -> nn.Module:
    kinds = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm, "none": nn.Identity}
    return kinds[kind](width)
