r"""Classifiers trained on labels: what the labels of the training nodes are worth by themselves.

=======  =============================================================================
``mlp``  two dense layers: no edge is looked at
``gcn``  two layers of Kipf and Welling (ICLR 2017)
``gat``  two layers of Veličković et al. (ICLR 2018), 8 heads of 8, then one, ELU between
=======  =============================================================================

All minimise cross-entropy over the training nodes, :math:`-\sum_i \log \mathrm{softmax}(h_i)_{y_i}
/ n`, and keep the epoch of the best validation accuracy, ties broken by validation loss. Settings
are those published for Cora: hidden 16, dropout 0.5, Adam 0.01 with weight decay 5e-4 (``mlp``
and ``gcn``); dropout 0.6 on inputs and attention, Adam 0.005 (``gat``).

Published code divides each row of features by its sum, which leaves rows of length 0.24 on Cora
but of 0.06 on Photo, where the same settings then learn next to nothing. Here rows have one of
two lengths, :data:`LENGTHS`, whichever classifies the validation nodes better.

They learn along the edges of the graph they are given, which in the node task lacks the pairs
held out for the pre-training of others, and classify along all edges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.data.features import scaled_rows
from maskgae.data.graph import Graph
from maskgae.data.labels import NodeSplit
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.lab.methods.layers import Dense, Stack, View
from maskgae.lab.methods.loop import Figure, Loop, Recipe
from maskgae.nn.convs import GATConv, GCNConv

RECIPE = Recipe(epochs=500, lr=0.01, weight_decay=5e-4)
GAT_RECIPE = Recipe(epochs=1000, lr=0.005, weight_decay=5e-4)

#: Lengths of the rows of features that are tried.
LENGTHS = (0.25, 1.0)

#: Makes a stack from the widths of features and classes, and the stream of its weights.
Maker = Callable[[int, int, Stream], Stack]


def mlp_stack(in_channels: int, num_classes: int, stream: Stream) -> Stack:
    return Stack([Dense(in_channels, 16), Dense(16, num_classes)], stream, rate=0.5)


def gcn_stack(in_channels: int, num_classes: int, stream: Stream) -> Stack:
    return Stack([GCNConv(in_channels, 16), GCNConv(16, num_classes)], stream, rate=0.5)


def gat_stack(in_channels: int, num_classes: int, stream: Stream) -> Stack:
    layers = [GATConv(in_channels, 8, heads=8), GATConv(64, num_classes)]
    return Stack(layers, stream, rate=0.6, attention_rate=0.6, activation=F.elu)


@dataclass(frozen=True)
class FittedClassifier:
    """A trained classifier of nodes, with the length of feature rows it was trained on."""

    stack: Stack
    length: float
    facts: Mapping[str, Any]
    device: str

    @torch.no_grad()
    def classify(self, graph: Graph) -> Tensor:
        logits: Tensor = self.stack(_view(graph, self.length, self.device))
        return logits.argmax(1)


@dataclass(frozen=True)
class Supervised:
    """A classifier behind the contract of every method; validation pairs play no part."""

    make: Maker
    device: str = "cpu"
    recipe: Recipe = RECIPE

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedClassifier:
        tried = [self._fit(graph, length, stream, on_epoch) for length in LENGTHS]
        return max(tried, key=lambda fitted: fitted.facts["val_accuracy"])

    def _fit(
        self, graph: Graph, length: float, stream: Stream, on_epoch: OnEpoch | None
    ) -> FittedClassifier:
        labels, split = _labels_and_split(graph)
        labels, view = labels.to(self.device), _view(graph, length, self.device)
        stack = self.make(view.x.num_columns, graph.num_classes, stream.at("weights"))
        stack.to(self.device)

        def update(epoch: int) -> Tensor:
            logits = stack(view, stream.at("noise", epoch))
            return F.cross_entropy(logits.index_select(0, split.train), labels[split.train])

        def judge() -> Figure:
            logits, truth = stack(view)[split.val], labels[split.val]
            accuracy = (logits.argmax(1) == truth).double().mean()
            return accuracy.item(), -F.cross_entropy(logits, truth).item()

        loop = Loop(stack, self.recipe, update, judge, on_epoch, figure="val_accuracy")
        facts = {**loop.run(), "row_length": length, "val_accuracy": loop.best[0]}
        return FittedClassifier(stack, length, facts, self.device)


def _labels_and_split(graph: Graph) -> tuple[Tensor, NodeSplit]:
    if graph.labels is None or graph.node_split is None:
        raise InputError(
            f"a supervised method needs labels and a node split, which {graph.name} lacks: "
            "give both, or choose a method that learns without labels"
        )
    return graph.labels, graph.node_split


def _view(graph: Graph, length: float, device: str) -> View:
    """The graph with all rows of features brought to one length."""
    if graph.features is None:
        return View.of(graph, device)
    return View.of(replace(graph, features=scaled_rows(graph.features, length)), device)
