r"""GraphMAE: masked features, rebuilt by a decoder that has not seen the masked nodes' codes.

Hou et al., GraphMAE: Self-Supervised Masked Graph Autoencoders (KDD 2022). Of a share :math:`r` of
the nodes the features are masked: most get a learnt vector :math:`m` in their place, a share
:math:`\rho` of them the features of another node. With :math:`H` the encoder's output on these
features, :math:`B` a linear map and :math:`\tilde H` the rows :math:`h_i B`, zero where :math:`i`
is masked,

.. math::
    \hat X = \mathrm{GAT}(\tilde H, A), \qquad
    L = \mathrm{mean}_{i \in masked} (1 - \cos(x_i, \hat x_i))^\gamma.

The encoder is a stack of GATs, all heads side by side in every layer, with dropout before and a
PReLU after each. The learning rate falls by a cosine to zero. The embedding is :math:`H` of the
whole features and the whole graph.

==================  =====================================  ==================================
                    published code                         here
==================  =====================================  ==================================
PubMed              1,024 wide, 1,000 epochs               256 wide, 300 epochs
Photo, Computers,   none                                   PubMed's, r = 0.7 on Photo and
dblp                                                       Computers; 200 epochs but on Photo
==================  =====================================  ==================================

The published settings of PubMed take hours without a GPU. All epochs are run and the last weights
kept, as published.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from maskgae.base.dropout import dropout
from maskgae.base.errors import InputError
from maskgae.base.fields import setting
from maskgae.base.rng import Stream
from maskgae.data.csr import positions
from maskgae.data.features import DenseFeatures
from maskgae.lab.methods.layers import AttentionDropout, View
from maskgae.lab.methods.pretraining import Pretext, Pretrained, reset
from maskgae.lab.methods.registry import Entry
from maskgae.nn.activations import PReLU
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.convs import GATConv
from maskgae.nn.linear import Linear

#: Factor of the initial weights, that of ReLU layers.
GAIN = math.sqrt(2)


@dataclass(frozen=True)
class GraphMAEConfig:
    """The settings of GraphMAE; the defaults are those published for Cora."""

    dim: int = setting(512, "width of each layer, all heads together", low=1)
    heads: int = setting(4, "attention heads of the encoder; they divide the width", low=1)
    layers: int = setting(2, "layers of the encoder", low=1)
    mask: float = setting(0.5, "share of the nodes that is masked", low=0, high=1, open_ends=True)
    replace: float = setting(0.05, "share of those with another node's features", low=0, high=1)
    gamma: float = setting(3.0, "exponent of the loss", low=1)
    dropout: float = setting(0.2, "dropout before each layer", low=0, high=0.996)
    attention_dropout: float = setting(0.1, "dropout of attention", low=0, high=0.996)
    epochs: int = setting(1500, "updates", low=1)
    lr: float = setting(1e-3, "largest learning rate of Adam", low=0, open_ends=True)
    weight_decay: float = setting(2e-4, "weight decay of Adam", low=0)


def scaled_cosine_error(x: Tensor, rebuilt: Tensor, gamma: float) -> Tensor:
    """The loss of the masked rows, ``[m, F]`` each."""
    # Both lengths at once: dividing the rows themselves would go through them once more each.
    lengths = torch.linalg.vector_norm(x, dim=1) * torch.linalg.vector_norm(rebuilt, dim=1)
    cosines = (x * rebuilt).sum(1) / lengths.clamp(min=1e-8)
    return (1 - cosines).pow(gamma).mean()


@dataclass(frozen=True)
class Mask:
    """Which nodes are masked, and what stands in their place.

    Shapes:
        - **nodes:** ``[m]``, all masked ones
        - **source:** ``[N]``, whose features a node has: its own unless another's replace them
        - **learnt:** ``[t]``, those with the learnt vector instead
    """

    nodes: Tensor
    source: Tensor
    learnt: Tensor

    @classmethod
    def drawn(cls, count: int, config: GraphMAEConfig, stream: Stream) -> Mask:
        generator = stream.torch()
        order = torch.randperm(count, generator=generator)
        nodes = order[: max(1, int(config.mask * count))]
        replaced = nodes[: int(config.replace * nodes.numel())]
        source = torch.arange(count)
        source[replaced] = torch.randperm(count, generator=generator)[: replaced.numel()]
        return cls(nodes, source, nodes[replaced.numel() :])

    def to(self, device: torch.device) -> Mask:
        return Mask(self.nodes.to(device), self.source.to(device), self.learnt.to(device))


class GraphMAE(Pretext):
    """Graph attention that encodes, a linear map, and graph attention that decodes."""

    def __init__(self, view: View, config: GraphMAEConfig) -> None:
        super().__init__()
        if config.dim % config.heads:
            raise InputError(
                f"graphmae.heads must divide graphmae.dim = {config.dim}, not {config.heads}: set "
                "both"
            )
        width, each = view.x.num_columns, config.dim // config.heads
        widths = [width] + [config.dim] * (config.layers - 1)
        self.convs = nn.ModuleList(GATConv(inner, each, config.heads) for inner in widths)
        self.activations = nn.ModuleList(PReLU() for _ in widths)
        self.bridge = Linear(config.dim, config.dim, bias=False)
        self.decoder = GATConv(config.dim, width)
        self.token = nn.Parameter(torch.zeros(1, width))
        self.config = config

    def reset_parameters(self, generator: torch.Generator) -> None:
        for part in (self.activations, self.bridge):
            reset(part, generator)
        for conv in (*self.convs, self.decoder):
            _xavier(conv, generator)
        nn.init.zeros_(self.token)

    def rate(self, epoch: int) -> float:
        return (1 + math.cos(math.pi * epoch / self.config.epochs)) / 2

    def encode(self, view: View) -> Tensor:
        return self._layers(self._first.send(view.x), view.adjacency, None)

    def loss(self, view: View, stream: Stream) -> Tensor:
        mask = Mask.drawn(view.x.num_rows, self.config, stream.at("mask"))
        return self.masked_loss(view, mask.to(self.token.device), stream.at("noise"))

    def masked_loss(self, view: View, mask: Mask, noise: Stream | None) -> Tensor:
        """The loss where the given nodes are masked; with a ``noise`` stream dropout is on."""
        h = self._layers(self._masked_product(view, mask, noise), view.adjacency, noise)
        rebuilt = self._decoded(h, view.adjacency, mask, noise and noise.at("decoder"))
        x = view.x.rows(mask.nodes).dense()
        return scaled_cosine_error(x, rebuilt.index_select(0, mask.nodes), self.config.gamma)

    def _decoded(self, h: Tensor, adjacency: Adjacency, mask: Mask, noise: Stream | None) -> Tensor:
        """What the decoder makes of the codes; those of masked nodes are zero, so left out."""
        seen = torch.ones(h.shape[0], dtype=torch.bool, device=h.device)
        seen[mask.nodes] = False
        nodes = positions(seen)
        codes = self._dropped(self.bridge(h.index_select(0, nodes)), noise)
        sent = h.new_zeros(h.shape[0], self.decoder.out_channels)
        sent = sent.index_copy_(0, nodes, self.decoder.send(codes))
        return self.decoder.combine(sent, self._attended(adjacency, noise))

    @property
    def _first(self) -> GATConv:
        first = self.convs[0]
        assert isinstance(first, GATConv)
        return first

    def _masked_product(self, view: View, mask: Mask, noise: Stream | None) -> Tensor:
        """The masked features times the first weights: rows of the whole product, and m's own."""
        weight, rate = self._first.sent_weight(), 0.0 if noise is None else self.config.dropout
        drawn = noise or Stream(0)  # nothing is drawn at rate zero
        x = view.x.dropout(rate, drawn.at("features"))
        rows = x.linear(weight).index_select(0, mask.source)
        # [masked, F], each node's own draw
        token = self.token.expand(mask.learnt.numel(), -1)
        return rows.index_copy(0, mask.learnt, dropout(token, rate, drawn.at("token")) @ weight)

    def _layers(self, sent: Tensor, adjacency: Adjacency, noise: Stream | None) -> Tensor:
        """The encoder, from the product of the first layer on."""
        h = sent
        for level, (conv, activation) in enumerate(zip(self.convs, self.activations, strict=True)):
            here = noise and noise.at(level)
            sent = conv.send(self._dropped(h, here)) if level else h  # type: ignore[operator]
            seen = self._attended(adjacency, here)
            h = activation(conv.combine(sent, seen))  # type: ignore[operator]
        return h

    def _dropped(self, h: Tensor, noise: Stream | None) -> DenseFeatures:
        x = DenseFeatures(h)
        return x if noise is None else x.dropout(self.config.dropout, noise.at("input"))

    def _attended(self, adjacency: Adjacency, noise: Stream | None) -> Adjacency:
        if noise is None:
            return adjacency
        return AttentionDropout(adjacency, self.config.attention_dropout, noise.at("attention"))


def _xavier(conv: GATConv, generator: torch.Generator) -> None:
    """Normal weights by Glorot and Bengio's rule, for the attention vectors too."""
    nn.init.xavier_normal_(conv.lin.weight, GAIN, generator=generator)
    deviation = GAIN * math.sqrt(2 / (conv.out_channels * (conv.heads + 1)))
    for vectors in (conv.att_src, conv.att_dst):
        nn.init.normal_(vectors, 0.0, deviation, generator=generator)
    assert conv.bias is not None
    nn.init.zeros_(conv.bias)


REDUCED = {"dim": 256, "replace": 0.0, "weight_decay": 1e-5, "epochs": 300}

ENTRY = Entry(
    "graphmae",
    GraphMAEConfig,
    lambda config, device: Pretrained(GraphMAE, config, device),
    by_dataset={
        "CiteSeer": {
            "heads": 2,
            "replace": 0.1,
            "gamma": 1.0,
            "weight_decay": 2e-5,
            "epochs": 300,
        },
        "PubMed": {**REDUCED, "mask": 0.75},
        "Photo": {**REDUCED, "mask": 0.7},
        "Computers": {**REDUCED, "mask": 0.7, "epochs": 200},
        "dblp": {**REDUCED, "mask": 0.75, "epochs": 200},
    },
)
