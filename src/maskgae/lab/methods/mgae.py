r"""MGAE: masked edges, predicted from the products of all pairs of layers.

Tan et al., MGAE: Masked Autoencoders for Self-Supervised Learning on Graphs (2022), later S2GAE.
A share :math:`r` of the edges is masked. A GCN without them gives :math:`h^1 \dots h^L`, and

.. math::
    p_{uv} &= \sigma\, \mathrm{MLP}([\,h^a_u \odot h^b_v\,]_{a, b = 1 \dots L}) \\
    L &= -\mathrm{mean}_{E_{mask}} \log p_{uv} - \mathrm{mean}_{\bar E} \log(1 - p_{uv})

with as many negative samples :math:`\bar E` as masked edges. An edge is scored by the mean of its
two logits :math:`s_{uv}, s_{vu}`, which differ; the embedding is :math:`[h^1 \dots h^L]`.

==================  =====================================  ==================================
                    published code                         here
==================  =====================================  ==================================
masks               undirected (small graphs, links) or    undirected
                    directed (Collab, nodes)
negative samples    of the visible graph: masked and       of the training graph
                    held-out edges may be drawn
scoring             dropout of the decoder stays on        no dropout; mean of both directions
edges per update    all, or 65,536                         at most ``batch``, drawn anew
settings            a grid for links, whose winners are    the defaults for links, in both
                    not told; 400 epochs with r = 0.8      tasks; on CiteSeer r and dropout by
                    for nodes                              validation AUC (five seeds of ``tune``);
                                                           on Photo and Computers a rate of 0.001,
                                                           by Photo's validation nodes (two seeds):
                                                           0.01 leaves nothing of the embedding
==================  =====================================  ==================================

The epoch is that of the best validation AUC, as published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskgae.base.dropout import dropout
from maskgae.base.fields import setting
from maskgae.base.matmul import matmul
from maskgae.base.rng import Stream
from maskgae.data.features import DenseFeatures
from maskgae.data.graph import Graph
from maskgae.data.negatives import NonEdges
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.lab.methods.layers import View
from maskgae.lab.methods.loop import Loop, Recipe, link_judge
from maskgae.lab.methods.registry import Entry
from maskgae.lab.methods.vectors import Untrained
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.convs import GCNConv
from maskgae.nn.linear import Linear

#: Pairs that are scored at a time.
CHUNK = 2**14


@dataclass(frozen=True)
class MGAEConfig:
    """The settings of MGAE; the defaults are those of the published command for links."""

    ratio: float = setting(0.7, "share of the edges that is masked", low=0, high=1, open_ends=True)
    layers: int = setting(2, "layers of the encoder", low=1)
    hidden: int = setting(128, "width of each", low=1)
    dropout: float = setting(0.5, "dropout in encoder and decoder", low=0, high=0.996)
    decoder_layers: int = setting(2, "layers of the decoder", low=1)
    decoder_hidden: int = setting(256, "width of its hidden layers", low=1)
    batch: int = setting(65_536, "masked edges decoded in an update", low=1)
    lr: float = setting(0.01, "learning rate of Adam", low=0)
    epochs: int = setting(200, "updates at most", low=1)
    patience: int = setting(50, "epochs without a better validation AUC", low=1)


class LayerwiseGCN(nn.Module):
    """A GCN that keeps the output of each layer: ReLU, then dropout but for the last."""

    def __init__(self, in_channels: int, config: MGAEConfig, generator: torch.Generator) -> None:
        super().__init__()
        widths = [in_channels] + [config.hidden] * (config.layers - 1)
        self.layers = nn.ModuleList(GCNConv(width, config.hidden) for width in widths)
        self.rate = config.dropout
        for layer in self.layers:
            layer.reset_parameters(generator)  # type: ignore[operator]

    def forward(self, view: View, noise: Stream | None = None) -> list[Tensor]:
        """The outputs ``[N, hidden]`` of all layers; with a ``noise`` stream dropout is on."""
        x, outputs = view.x, []
        for level, layer in enumerate(self.layers):
            h = layer(x, view.adjacency).relu()
            if noise is not None and level + 1 < len(self.layers):
                h = dropout(h, self.rate, noise.at(level))
            outputs.append(h)
            x = DenseFeatures(h)
        return outputs


class CrossCorrelation(nn.Module):
    """An MLP on the products of every layer of one end with every layer of the other."""

    def __init__(self, config: MGAEConfig, generator: torch.Generator) -> None:
        super().__init__()
        hidden = [config.decoder_hidden] * (config.decoder_layers - 1)
        widths = [config.layers**2 * config.hidden, *hidden, 1]
        self.layers = nn.ModuleList(Linear(a, b) for a, b in pairwise(widths))
        self.rate = config.dropout
        for layer in self.layers:
            layer.reset_parameters(generator)  # type: ignore[operator]

    def forward(
        self, outputs: Sequence[Tensor], pairs: Tensor, noise: Stream | None = None
    ) -> Tensor:
        """Logits of ordered pairs, ``[2, P] -> [P]``."""
        from_u, from_v = ([h.index_select(0, end) for h in outputs] for end in pairs)
        # [P, layers^2 * hidden]
        x = torch.cat([a * b for a in from_u for b in from_v], dim=1)
        return self._after_first(self.layers[0](x), noise)

    def _after_first(self, x: Tensor, noise: Stream | None = None) -> Tensor:
        """What follows the first layer, ``[P, hidden] -> [P]``."""
        for level, layer in enumerate(self.layers[1:]):
            x = x.relu()
            if noise is not None:
                x = dropout(x, self.rate, noise.at("decoder", level))
            x = layer(x)
        return x.squeeze(1)

    def row(self, outputs: Sequence[Tensor], node: int) -> Tensor:
        """The mean logit of a node and every node in both orders, ``[N]``.

        The node's outputs go into the first layer's weights, so that no product of pairs is made.
        """
        first, own = self.layers[0], torch.stack([h[node] for h in outputs])
        assert isinstance(first, Linear) and first.bias is not None
        count, every = len(outputs), torch.cat(list(outputs), dim=1)
        # [layers of the one, layers of the other, hidden, out]
        weight = first.weight.view(count, count, own.shape[1], -1)
        # [layers, hidden, out] with the node in front, and behind
        seen = (weight * own[:, None, :, None]).sum(0), (weight * own[None, :, :, None]).sum(1)
        logits = [self._after_first(matmul(every, w.flatten(0, 1)) + first.bias) for w in seen]
        return (logits[0] + logits[1]) / 2


class MGAENet(nn.Module):
    """The encoder and the decoder together."""

    def __init__(self, in_channels: int, config: MGAEConfig, stream: Stream) -> None:
        super().__init__()
        self.encoder = LayerwiseGCN(in_channels, config, stream.at("encoder").torch())
        self.decoder = CrossCorrelation(config, stream.at("decoder").torch())

    def loss(
        self, visible: View, masked: Tensor, negatives: Tensor, noise: Stream | None = None
    ) -> Tensor:
        """Cross-entropy of masked edges ``[2, P]`` and as many negative samples."""
        outputs = self.encoder(visible, noise)
        logits = self.decoder(outputs, torch.cat([masked, negatives], dim=1), noise)
        positive, negative = logits.split([masked.shape[1], negatives.shape[1]])
        return F.softplus(-positive).mean() + F.softplus(negative).mean()

    def on(self, view: View) -> MGAEScores:
        """The scores of pairs on a graph, which is encoded once."""
        return MGAEScores(self.encoder(view), self.decoder)


@dataclass(frozen=True, eq=False)
class MGAEScores:
    """The logits of pairs on one message graph, the mean of both directions.

    Args:
        outputs: of all layers, ``[N, hidden]`` each.
        decoder: the logit of an ordered pair.
    """

    outputs: Sequence[Tensor]
    decoder: CrossCorrelation

    @torch.no_grad()
    def pairs(self, pairs: Tensor) -> Tensor:
        """``[2, P] -> [P]``"""
        halves = [
            (self.decoder(self.outputs, part) + self.decoder(self.outputs, part.flip(0))) / 2
            for part in pairs.to(self.outputs[0].device).split(CHUNK, dim=1)
        ]
        return torch.cat(halves) if halves else self.outputs[0].new_zeros(0)

    @torch.no_grad()
    def rows(self, nodes: Tensor) -> Tensor:
        """Logits against all nodes, ``[n] -> [n, N]``."""
        return torch.stack([self.decoder.row(self.outputs, node) for node in nodes.tolist()])


@dataclass(frozen=True)
class FittedMGAE:
    """A trained MGAE: it embeds by all layers and scores by its own decoder."""

    net: MGAENet
    facts: Mapping[str, Any]
    device: str
    #: All ends of Cora and CiteSeer; on larger graphs a row takes a tenth of a second.
    ranked_ends: int = 1100

    @torch.no_grad()
    def embed(self, graph: Graph) -> Tensor:
        return torch.cat(self.net.encoder(View.of(graph, self.device)), dim=1)

    def score(self, graph: Graph, pairs: Tensor) -> Tensor:
        return self.on(graph).pairs(pairs)

    @torch.no_grad()
    def on(self, graph: Graph) -> MGAEScores:
        return self.net.on(View.of(graph, self.device))


@dataclass(frozen=True)
class MGAE:
    """MGAE behind the contract of every method."""

    config: MGAEConfig = MGAEConfig()
    device: str = "cpu"

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedMGAE:
        config, view = self.config, View.of(graph, self.device)
        net = self._net(view, stream)
        non_edges = NonEdges(graph)

        def update(epoch: int) -> Tensor:
            visible, masked = self._mask(graph, stream.at("mask", epoch))
            negatives = non_edges.sample(masked.shape[1], stream.at("negatives", epoch))
            seen = View(view.x, Adjacency.of(graph, visible).to(self.device))
            both = masked.to(self.device), negatives.to(self.device)
            return net.loss(seen, *both, stream.at("noise", epoch))

        judge = link_judge(lambda pairs: net.on(view).pairs(pairs), validation)
        recipe = Recipe(config.epochs, config.lr, patience=config.patience)
        parts = (net.encoder, net.decoder)
        loop = Loop(net, recipe, update, judge, on_epoch, clipped=parts)
        facts = loop.run() | {"selection": "validation AUC" if judge else "last epoch"}
        return FittedMGAE(net, facts, self.device)

    def untrained(self, graph: Graph, stream: Stream) -> Untrained:
        """The network that a fit with the same stream starts from."""
        net = self._net(View.of(graph, self.device), stream)
        return Untrained(lambda other: torch.cat(net.encoder(View.of(other, self.device)), 1).cpu())

    def _net(self, view: View, stream: Stream) -> MGAENet:
        return MGAENet(view.x.num_columns, self.config, stream.at("weights")).to(self.device)

    def _mask(self, graph: Graph, stream: Stream) -> tuple[Tensor, Tensor]:
        """Which pairs stay visible, ``[M]`` bool, and masked ones to predict, ``[2, P]``."""
        order = torch.randperm(graph.num_pairs, generator=stream.torch())
        count = max(1, int(self.config.ratio * graph.num_pairs))
        visible = torch.ones(graph.num_pairs, dtype=torch.bool)
        visible[order[:count]] = False
        return visible, graph.pairs[:, order[: min(count, self.config.batch)]].long()


ENTRY = Entry(
    "mgae",
    MGAEConfig,
    MGAE,
    {
        "CiteSeer": {"ratio": 0.3, "dropout": 0.2},
        "Photo": {"lr": 0.001},
        "Computers": {"lr": 0.001},
    },
)
