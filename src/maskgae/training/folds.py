"""Inputs from structure that never contain what is to be predicted.

The edges are divided into folds by a hash. An epoch's mask hides one fold, whose edges are its
targets, and the structural columns that the encoder reads are made without it. All folds start from
the same random matrix, so that their columns lie in one basis
(:mod:`~maskgae.data.structural`) with those of the whole graph, which are read after training.
On large graphs, where the columns of all folds would not fit, one fold is hidden throughout.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from maskgae.base.rng import Stream, hash_uniform
from maskgae.base.settings import Settings
from maskgae.base.sizes import CACHE_PAIRS
from maskgae.data.features import DenseFeatures
from maskgae.data.graph import Graph
from maskgae.data.pairs import pair_keys
from maskgae.data.structural import StructuralFeatures
from maskgae.masking.mask import Masked, hide

#: Numbers of structural columns up to which those of all folds are kept: 256 MiB in float32.
KEPT_NUMBERS = 2**26


class Folds:
    """The folds of a training graph, some of whose inputs are made from its edges.

    Args:
        graph: the training graph.
        settings: how many folds and columns.
        stream: the root of the run's randomness.
    """

    def __init__(self, graph: Graph, settings: Settings, stream: Stream) -> None:
        self.graph = graph
        self.width, self.stream = settings.encoder.structure, stream
        self.fold = fold_of(graph, settings.mask.folds, stream.at("folds"))
        self.used = torch.unique(self.fold).tolist()  # a few edges leave some empty
        if graph.num_nodes * self.width * len(self.used) > KEPT_NUMBERS:
            self.used = self.used[:1]
        self._made = cache(self._columns)

    def mask(self, epoch: int) -> Masked:
        """Hides the fold of an epoch."""
        return hide(self.graph, self.fold == self._of(epoch))

    def seen(self, epoch: int) -> Graph:
        """The training graph with columns made without the fold of an epoch."""
        made = self._made(self._of(epoch))
        if self.graph.made is None:  # it brought no features
            return self.graph.with_features(made)
        return self.graph.with_made(made)

    def _of(self, epoch: int) -> int:
        return int(self.used[epoch % len(self.used)])

    def _columns(self, fold: int) -> DenseFeatures:
        visible, stream = self.graph.subgraph(self.fold != fold), self.stream.at("structure")
        return StructuralFeatures.fit(visible, self.width, stream).transform(visible)


def fold_of(graph: Graph, count: int, stream: Stream) -> Tensor:
    """The fold of each pair, ``[M]``, whatever other pairs there are."""
    fold = torch.empty(graph.num_pairs, dtype=torch.uint8)
    for start in range(0, graph.num_pairs, CACHE_PAIRS):
        part = slice(start, start + CACHE_PAIRS)
        fold[part] = hash_uniform(pair_keys(graph.pairs[:, part], graph.num_nodes), stream) % count
    return fold
