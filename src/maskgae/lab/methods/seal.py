r"""SEAL: a pair is classified by the subgraph around it.

Zhang and Chen, Link Prediction Based on Graph Neural Networks (NeurIPS 2018). With the enclosing
subgraph of a pair (:mod:`~maskgae.lab.methods.enclosing`), a learnt vector :math:`t_f` for each
node label :math:`f` and the features :math:`x`, a DGCNN (Zhang et al., AAAI 2018) computes

.. math::
    H^0 = [\,t_f \,\|\, x\,], \quad
    H^{l} = \tanh(\hat A H^{l-1} W^l + b^l), \quad
    Z = [\,H^1 \| H^2 \| H^3 \| h^4\,],

orders the nodes by the one channel of :math:`h^4`, descending, keeps the first :math:`k` rows of
:math:`Z` (zeros where there are fewer), and gives the logit by two convolutions over these rows,
a maximum over neighbours between them, and two dense layers. :math:`k` is the size that 60 % of
the training subgraphs do not exceed, at least 10. The loss is the cross-entropy of training edges
and as many negative samples, drawn once.

==================  =====================================  ==================================
                    published code (SEAL_OGB)              here
==================  =====================================  ==================================
hops                3, 1 on Collab                         2; 1 on PubMed, Photo, Computers
hidden              256, 32 on PubMed                      32
batch, rate         32 pairs, 1e-4, 50 epochs              128 pairs, 1e-3, ``epochs`` batches
features            all but CiteSeer                       where the graph has any
training edges      all, in both orders                    all; 10,000 on Photo and Computers
nodes a hop adds    all                                    all; 100 on Photo and Computers
subgraphs           extracted in every epoch               once, kept in memory
==================  =====================================  ==================================

The batch with the best validation AUC is kept, as published by epochs. SEAL scores pairs and
embeds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskgae.base.dropout import dropout
from maskgae.base.fields import setting
from maskgae.base.rng import Stream
from maskgae.data.features import DenseFeatures, Features
from maskgae.data.graph import Graph
from maskgae.data.negatives import NonEdges
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.lab.methods.augment import sample_nodes
from maskgae.lab.methods.enclosing import Enclosing, enclosing_subgraphs
from maskgae.lab.methods.loop import Figure, Loop, Recipe, link_judge
from maskgae.lab.methods.registry import Entry
from maskgae.nn.convs import GCNConv
from maskgae.nn.linear import Linear

#: Labels with a vector of their own; larger ones share the last.
LABELS = 1000
#: Share of the training subgraphs that pooling keeps whole, and the least it keeps.
WHOLE, LEAST = 0.6, 10
#: Channels of the two convolutions, rows the second one sees, width of the dense layer.
FIRST, SECOND, WINDOW, DENSE = 16, 32, 5, 128
#: Pairs that are scored at a time.
CHUNK = 512


@dataclass(frozen=True)
class SEALConfig:
    """The settings of SEAL; an epoch is one update on one batch."""

    hops: int = setting(2, "how far from either end a subgraph reaches", low=1)
    most: int = setting(0, "nodes that a hop adds to a subgraph at most; 0: all", low=0)
    links: int = setting(0, "training edges at most, drawn at random; 0: all", low=0)
    hidden: int = setting(32, "width of the graph convolutions and of a label's vector", low=1)
    dropout: float = setting(0.5, "dropout before the last layer", low=0, high=0.996)
    batch: int = setting(128, "pairs in an update", low=2)
    epochs: int = setting(1500, "updates at most, each on one batch", low=1)
    every: int = setting(50, "updates between two validations", low=1)
    patience: int = setting(500, "updates without a better validation AUC", low=1)
    lr: float = setting(1e-3, "learning rate of Adam", low=0, open_ends=True)


class DGCNN(nn.Module):
    """Graph convolutions on subgraphs, sort pooling, and a logit for each subgraph."""

    def __init__(self, num_features: int, k: int, config: SEALConfig) -> None:
        super().__init__()
        hidden, self.k, self.rate = config.hidden, k, config.dropout
        self.table = nn.Parameter(torch.zeros(LABELS, hidden))
        widths = [(hidden + num_features, hidden), (hidden, hidden), (hidden, hidden), (hidden, 1)]
        self.convs = nn.ModuleList(GCNConv(*width) for width in widths)
        rows = k // 2 - WINDOW + 1
        self.first, self.second = Linear(3 * hidden + 1, FIRST), Linear(FIRST * WINDOW, SECOND)
        self.third, self.last = Linear(SECOND * rows, DENSE), Linear(DENSE, 1)

    def reset_parameters(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, generator=generator)
        for part in (*self.convs, self.first, self.second, self.third, self.last):
            part.reset_parameters(generator)

    def forward(self, x: Features | None, found: Enclosing, noise: Stream | None = None) -> Tensor:
        """A logit for each subgraph, ``[P]``; with a ``noise`` stream dropout is on."""
        # [P, k, 3 hidden + 1] -> [P, k, FIRST]
        rows = self.first(sort_pool(self.node_vectors(x, found), found.offsets, self.k)).relu()
        # [P, FIRST, k // 2]
        rows = F.max_pool1d(rows.transpose(1, 2), 2)
        # [P, windows, FIRST * WINDOW]
        windows = rows.unfold(2, WINDOW, 1).transpose(1, 2).flatten(2)
        h = self.third(self.second(windows).relu().flatten(1)).relu()
        if noise is not None:
            h = dropout(h, self.rate, noise)
        out: Tensor = self.last(h).squeeze(1)
        return out

    def node_vectors(self, x: Features | None, found: Enclosing) -> Tensor:
        """The outputs of all graph convolutions side by side, ``[n, 3 hidden + 1]``."""
        adjacency, (first, *others) = found.adjacency(), self.convs
        h = first.combine(self._sent(x, found), adjacency).tanh()  # type: ignore[operator]
        outputs = [h]
        for conv in others:
            h = conv(DenseFeatures(h), adjacency).tanh()
            outputs.append(h)
        return torch.cat(outputs, dim=1)

    def _sent(self, x: Features | None, found: Enclosing) -> Tensor:
        """The first layer's product: labels and nodes come back often, so each has it once."""
        weight, width = self.convs[0].sent_weight(), self.table.shape[1]  # type: ignore[operator]
        sent = (self.table @ weight[:width]).index_select(0, found.labels.clamp(max=LABELS - 1))
        if x is not None:
            sent = sent + x.linear(weight[width:]).index_select(0, found.nodes)
        return sent


def sort_pool(z: Tensor, offsets: Tensor, k: int) -> Tensor:
    """The first k nodes of each subgraph by the last channel, descending, ``[n, d] -> [P, k, d]``.

    Equal ones stay in their order; where there are fewer nodes, the rest is zero.

    >>> sort_pool(torch.tensor([[1.0], [3.0], [2.0], [5.0]]), torch.tensor([0, 3, 4]), 2).tolist()
    [[[3.0], [2.0]], [[5.0], [0.0]]]
    """
    sizes = offsets.diff()
    owner = torch.repeat_interleave(sizes, output_size=z.shape[0])
    order = torch.sort(z[:, -1].detach(), descending=True, stable=True).indices
    order = order[torch.sort(owner[order], stable=True).indices]
    rank = torch.arange(z.shape[0], device=z.device) - offsets[:-1][owner]
    kept = rank < k
    place = (owner * k + rank)[kept]
    pooled = z.new_zeros(sizes.numel() * k, z.shape[1])
    return pooled.index_copy(0, place, z.index_select(0, order[kept])).view(-1, k, z.shape[1])


@dataclass(frozen=True)
class FittedSEAL:
    """A trained SEAL, which extracts the subgraphs of the pairs it is asked for."""

    net: DGCNN
    config: SEALConfig
    facts: Mapping[str, Any]
    device: str
    #: A pair costs a subgraph, so few ends are ranked among all nodes.
    ranked_ends: int = 100

    @torch.no_grad()
    def score(self, graph: Graph, pairs: Tensor) -> Tensor:
        x, parts = _features(graph, self.device), pairs.long().split(CHUNK, dim=1)
        found = (enclosing_subgraphs(graph, p, self.config.hops, self.config.most) for p in parts)
        return torch.cat([self.net(x, each.to(self.device)) for each in found])


@dataclass(frozen=True)
class SEAL:
    """SEAL behind the contract of every method."""

    config: SEALConfig = SEALConfig()
    device: str = "cpu"

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedSEAL:
        config, x = self.config, _features(graph, self.device)
        found, truth = self._examples(graph, stream)
        net = DGCNN(0 if x is None else x.num_columns, pooled_nodes(found), config)
        net.reset_parameters(stream.at("weights").torch())
        net.to(self.device)

        def update(step: int) -> Tensor:
            index = batch_of(truth.numel(), step, config.batch, stream.at("batches"))
            logits = net(x, found.select(index).to(self.device), stream.at("noise", step))
            return F.binary_cross_entropy_with_logits(logits, truth[index].to(self.device))

        judge = self._judge(net, graph, validation)
        recipe = Recipe(config.epochs, config.lr, patience=config.patience, every=config.every)
        facts = Loop(net, recipe, update, judge, on_epoch).run()
        facts["selection"] = "validation AUC" if judge else "last epoch"
        facts |= {"subgraphs": truth.numel(), "pooled_nodes": net.k}
        return FittedSEAL(net, config, facts, self.device)

    def _examples(self, graph: Graph, stream: Stream) -> tuple[Enclosing, Tensor]:
        """The subgraphs of training edges and of as many negative samples, and which is which."""
        chosen = sample_nodes(graph.num_pairs, self.config.links, stream.at("links"))
        negatives = NonEdges(graph).sample(chosen.numel(), stream.at("negatives"))
        pairs = torch.cat([graph.pairs[:, chosen].long(), negatives], dim=1)
        truth = (torch.arange(pairs.shape[1]) < chosen.numel()).to(torch.get_default_dtype())
        return enclosing_subgraphs(graph, pairs, self.config.hops, self.config.most), truth

    def _judge(
        self, net: DGCNN, graph: Graph, validation: Validation | None
    ) -> Callable[[], Figure] | None:
        """The AUC of validation pairs, whose subgraphs are extracted once."""
        if validation is None:
            return None
        x = _features(graph, self.device)
        pairs = torch.cat([validation.pairs, validation.negatives], dim=1).long()
        found = enclosing_subgraphs(graph, pairs, self.config.hops, self.config.most)

        def score(pairs: Tensor) -> Tensor:
            parts = torch.arange(pairs.shape[1]).split(CHUNK)
            return torch.cat([net(x, found.select(part).to(self.device)) for part in parts])

        return link_judge(score, validation)


def pooled_nodes(found: Enclosing) -> int:
    """How many nodes pooling keeps: the size that a share of the subgraphs does not exceed."""
    sizes = found.sizes.sort().values
    return max(LEAST, int(sizes[math.ceil(WHOLE * sizes.numel()) - 1]))


def batch_of(count: int, step: int, size: int, stream: Stream) -> Tensor:
    """The examples of an update: all of them once in random order, then again in another.

    >>> sorted(torch.cat([batch_of(5, step, 2, Stream(0)) for step in range(3)]).tolist())
    [0, 1, 2, 3, 4]
    """
    batches = math.ceil(count / size)
    order = torch.randperm(count, generator=stream.at(step // batches).torch())
    return order[step % batches * size :][:size]


def _features(graph: Graph, device: str) -> Features | None:
    return None if graph.features is None else graph.features.to(device)


ENTRY = Entry(
    "seal",
    SEALConfig,
    SEAL,
    by_dataset={
        "PubMed": {"hops": 1, "epochs": 3000, "every": 200},
        "Photo": {"hops": 1, "most": 100, "links": 10_000, "every": 250},
        "Computers": {"hops": 1, "most": 100, "links": 10_000, "every": 250},
    },
)
