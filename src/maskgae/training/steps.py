"""Where updates come from: an epoch's mask, cut into steps.

A step looks at the whole visible graph, as published, or at sampled blocks around the ends of its
targets and negatives, where ``training.fanouts`` says how many neighbours to keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.directions import BACKWARD
from maskgae.data.features import Features
from maskgae.data.graph import Graph
from maskgae.data.negatives import Corrupted, NonEdges
from maskgae.data.splits import oriented
from maskgae.evaluation.audit import audit_negatives
from maskgae.masking.mask import Masked, draw_mask
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.blocks import Blocks, Sampler
from maskgae.nn.network import MaskGAENet, Step
from maskgae.training.folds import Folds
from maskgae.training.parallel import Ranks
from maskgae.training.shared import shared_negatives, shared_order

ALONE = Ranks()
T = TypeVar("T")
#: Targets, negatives, the weight of their loss, and where their blocks are drawn from.
_Pairs = tuple[Tensor, Tensor, float, Stream]
#: Share of the negatives of a directed graph that are targets the other way round.
TURNED = 0.25


class Steps:
    """Draws the mask and the negative samples of every epoch of a training run.

    Args:
        graph: the training graph; nothing that is held out is in it.
        settings: mask, objective and batches.
        stream: the root of the run's randomness.
        ranks: which part of each batch is this process's.
    """

    def __init__(
        self, graph: Graph, settings: Settings, stream: Stream, ranks: Ranks = ALONE
    ) -> None:
        self.graph, self.settings, self.stream, self.ranks = graph, settings, stream, ranks
        self.fanouts = fanouts_by_hop(settings)
        self.folds = None
        if settings.encoder.structure and settings.mask.kind != "none":
            self.folds = Folds(graph, settings, stream)
        self.non_edges = NonEdges(graph)
        kind = settings.objective.corrupt
        self.corrupted = None if kind == "none" else Corrupted(graph, kind, self.non_edges)

    def mask(self, epoch: int) -> Masked:
        """The mask of an epoch, the same whenever and wherever it is asked for."""
        if self.folds is not None:
            return self.folds.mask(epoch)
        layers = self.settings.encoder.layers
        return draw_mask(self.graph, self.settings.mask, layers, self.stream.at("mask", epoch))

    def negatives(self, targets: Tensor, epoch: int, step: int) -> Tensor:
        """Non-edges of the training graph for some targets, ``[2, T] -> [2, T * k]``."""
        stream, each = self.stream.at("negatives", epoch, step), self.settings.objective.negatives
        count = targets.shape[1] * each
        if self.corrupted is None and self.settings.training.batches == "shared":
            drawn = shared_negatives(self.graph, self.non_edges, count, stream)
        elif self.corrupted is None:
            drawn = self.non_edges.sample(count, stream)
        else:
            drawn = self.corrupted.sample(targets, each, stream)
        if self.graph.directed:
            drawn = self._turned(drawn, targets, stream)
        if epoch == step == 0:
            audit_negatives(self.graph, drawn)
        if self.corrupted is not None:
            return drawn  # each target has its own
        if self.settings.objective.loss == "bce":
            return drawn  # sorted, which makes gathers fast; here no target owns its negatives
        order = torch.randperm(drawn.shape[1], generator=stream.at("order").torch())
        return drawn[:, order]

    def batches(self, masked: Masked, epoch: int) -> Iterator[Tensor]:
        """The targets of each update of an epoch, as indices of pairs.

        Together they are all targets, once each, unless ``training.epoch_steps`` ends it before.
        """
        size = self.settings.training.batch_pairs
        if size == 0 or size >= masked.targets.numel():
            yield masked.targets
            return
        stream = self.stream.at("batches", epoch)
        if self.settings.training.batches == "shared":
            shuffled = shared_order(self.graph, masked, stream)
        else:
            order = torch.randperm(masked.targets.numel(), generator=stream.torch())
            shuffled = masked.targets[order]
        for batch in islice(shuffled.split(size), self.settings.training.epoch_steps or None):
            yield batch.sort().values

    def epoch(self, net: MaskGAENet, masked: Masked, epoch: int, first: int = 0) -> Iterator[Step]:
        """The steps of an epoch from the ``first`` on."""
        graph = self.graph if self.folds is None else self.folds.seen(epoch)
        if not self.fanouts:
            view = _Whole(net, graph, masked)
            for targets, negatives, weight, _ in self._pairs(masked, epoch, first):
                yield replace(view.step(targets, negatives), weight=weight)
            return
        cut = _Cut(net, graph, masked, self.fanouts)
        pairs = self._pairs(masked, epoch, first)
        around = ((weight, cut.around(t, n, noise)) for t, n, weight, noise in pairs)
        for weight, seen in ahead(around):
            yield replace(cut.step(seen), weight=weight)

    def _pairs(self, masked: Masked, epoch: int, first: int) -> Iterator[_Pairs]:
        """Targets, negatives, weight and the stream of blocks of each step."""
        for number, batch in islice(enumerate(self.batches(masked, epoch)), first, None):
            targets = self.targets(batch, epoch, number)
            negatives = self.negatives(targets, epoch, number)
            own, negatives, weight = self._share(targets, negatives)
            noise = self.stream.at("blocks", epoch, number)
            yield own.long(), negatives, weight, noise

    def targets(self, batch: Tensor, epoch: int, step: int) -> Tensor:
        """The pairs of a batch, source first; one that goes both ways goes either, ``[2, T]``."""
        pairs, ways = self.graph.pairs[:, batch], self.graph.directions
        if ways is None:
            return pairs
        generator = self.stream.at("ways", epoch, step).torch()
        either = torch.rand(batch.numel(), generator=generator) < 0.5
        back = torch.where(ways[batch] == 3, either, ways[batch] == BACKWARD)
        return torch.where(back, pairs.flip(0), pairs)

    def _turned(self, drawn: Tensor, targets: Tensor, stream: Stream) -> Tensor:
        """Negatives of a directed graph: each goes one way, and some are targets turned round."""
        if self.corrupted is None:
            drawn = oriented(self.graph, drawn, stream.at("ways"))
        owner = torch.arange(drawn.shape[1]) // (drawn.shape[1] // targets.shape[1])
        turned = targets.flip(0)[:, owner].long()
        chosen = torch.rand(owner.numel(), generator=stream.at("turned").torch()) < TURNED
        chosen &= ~self.graph.has(turned)
        if self.graph.types is not None:
            chosen &= self.graph.types.allow(turned)
        return torch.where(chosen, turned, drawn)

    def _share(self, targets: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor, float]:
        """The rank's part of the targets, their negatives, and the weight of their mean loss."""
        if self.ranks.alone:
            return targets, negatives, 1.0
        if targets.shape[1] < self.ranks.world:  # everyone gets something to do
            targets = targets.repeat(1, self.ranks.world)
            negatives = negatives.repeat(1, self.ranks.world)
        count = targets.shape[1]
        # [2, k, T], dealt out by target
        by_target = negatives.view(2, count, -1).transpose(1, 2)
        own = self.ranks.share(targets)
        dealt = self.ranks.share(by_target).transpose(1, 2).flatten(1)
        return own, dealt, own.shape[1] * self.ranks.world / count


def fanouts_by_hop(settings: Settings) -> tuple[int, ...]:
    """Neighbours sampled per hop from the targets on, the last number repeated; empty for all.

    >>> fanouts_by_hop(Settings().updated({"encoder.layers": 3, "training.fanouts": [10, 5]}))
    (10, 5, 5)
    """
    given, layers = settings.training.fanouts, settings.encoder.layers
    if len(given) > layers:
        raise InputError(
            f"training.fanouts = {list(given)} has more hops than encoder.layers = {layers}: "
            "give one number per layer, or fewer"
        )
    return given + given[-1:] * (layers - len(given))


class _Whole:
    """Steps that see the whole visible graph."""

    def __init__(self, net: MaskGAENet, graph: Graph, masked: Masked) -> None:
        self.net, self.device = net, next(net.parameters()).device
        self.features = None if graph.inputs is None else graph.inputs.to(self.device)
        adjacency = Adjacency.of(graph, masked.visible).to(self.device)
        self.adjacencies = [adjacency] * len(net.encoder.convs)
        self.degrees = masked.degrees.to(self.device)

    def step(self, targets: Tensor, negatives: Tensor) -> Step:
        return Step(
            x=self.net.encoder.input(self.features),
            adjacencies=self.adjacencies,
            targets=targets.to(self.device),
            negatives=negatives.to(self.device),
            degrees=self.degrees,
        )


class _Cut:
    """Steps that see blocks around the ends of their pairs; pairs are places among these ends."""

    def __init__(
        self, net: MaskGAENet, graph: Graph, masked: Masked, fanouts: Sequence[int]
    ) -> None:
        self.net, self.graph, self.fanouts = net, graph, fanouts
        self.sampler, self.degrees = Sampler(graph, masked.visible), masked.degrees

    def around(self, targets: Tensor, negatives: Tensor, stream: Stream) -> _Around:
        """What a step sees, whatever the weights are by then."""
        seeds, local = self.sampler.seeds(torch.cat([targets, negatives], dim=1))
        blocks = self.sampler.blocks(seeds, self.fanouts, stream)
        features = None if self.graph.inputs is None else self.graph.inputs.rows(blocks.nodes)
        return _Around(blocks, features, local, targets.shape[1], self.degrees[seeds])

    def step(self, seen: _Around) -> Step:
        device = next(self.net.parameters()).device
        features = None if seen.features is None else seen.features.to(device)
        local = seen.pairs.to(device)
        return Step(
            x=self.net.encoder.input(features, seen.blocks.nodes.to(device)),
            adjacencies=[adjacency.to(device) for adjacency in seen.blocks.adjacencies],
            targets=local[:, : seen.targets],
            negatives=local[:, seen.targets :],
            degrees=seen.degrees.to(device),
        )


@dataclass(frozen=True)
class _Around:
    """Blocks and features around the ends of pairs, of which the first are the targets."""

    blocks: Blocks
    features: Features | None
    pairs: Tensor
    targets: int
    degrees: Tensor


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, each made by a thread while the one before it is used.

    >>> list(ahead(iter("ab")))
    ['a', 'b']
    """
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
