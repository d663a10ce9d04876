"""A graph as it is fitted: with features, and with what is held out of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.data.splits import LinkSplit, split_links
from maskgae.data.structural import StructuralFeatures
from maskgae.data.time_split import split_by_time, time_starts
from maskgae.evaluation.link_task import selection_pairs
from maskgae.evaluation.method import Validation
from maskgae.io.times import moment
from maskgae.nn.readout import Readout
from maskgae.run import files
from maskgae.run.defaults import STRUCTURE
from maskgae.training import FittedMaskGAE


@dataclass(frozen=True)
class Task:
    """A graph with the features that a network reads, and what of it is held out."""

    graph: Graph
    split: LinkSplit | None
    structural: StructuralFeatures | None

    @property
    def train(self) -> Graph:
        return self.graph if self.split is None else self.split.train

    @property
    def held_out(self) -> dict[str, Tensor]:
        return {} if self.split is None else {k: getattr(self.split, k) for k in files.HELD_OUT}

    def validation(self, settings: Settings) -> Validation | None:
        """What the other ranks select on, as the link task does on rank 0."""
        if self.split is None:
            return None
        return selection_pairs(self.split, settings)[0]

    def readout(self, fitted: FittedMaskGAE) -> Readout | None:
        """The readout for all nodes, where it was fitted on those of the past."""
        there, count = self.train.num_nodes, self.graph.num_nodes
        if fitted.readout is None or there == count:
            return fitted.readout
        return fitted.readout.grown(slice(there), slice(there), count)


def prepared(graph: Graph, settings: Settings, holdout: bool | LinkSplit) -> Task:
    """The graph and its split, with features from structure where it brought none."""
    split = holdout if isinstance(holdout, LinkSplit) else None
    stream = Stream(settings.seed)
    if split is None and holdout:
        split = _split(graph, settings, stream.at("split"))
    width = settings.encoder.structure
    if graph.features is None and not settings.encoder.node_embedding:
        width = width or STRUCTURE
    if not width:
        return Task(graph, split, None)
    # Of training edges alone: what is held out must not shine through.
    train = graph if split is None else split.train
    made = StructuralFeatures.fit(train, width, stream.at("structure"))
    if split is not None:
        split = replace(
            split,
            train=_with_made(made, split.train),
            val_messages=split.val_messages and _with_made(made, split.val_messages),
            test_messages=split.test_messages and _with_made(made, split.test_messages),
        )
    return Task(_with_made(made, graph), split, _of_all(made, graph))


def _split(graph: Graph, settings: Settings, stream: Stream) -> LinkSplit:
    """Random shares or, where edges have times, what came later."""
    config = settings.split
    if graph.clock is None:
        return split_links(graph, config.val, config.test, stream)
    if settings.encoder.node_embedding:
        raise InputError("encoder.node_embedding learns of nodes that are there: not with --time")
    if config.hard_negatives:
        raise InputError("split.hard_negatives knows no time: set it to 0, or leave out --time")
    span = float(graph.clock.times.min()), float(graph.clock.times.max())
    given = {
        key: moment(getattr(config, key), f"split.{key}", span)
        for key in ("val_from", "test_from")
        if getattr(config, key)
    }
    starts = time_starts(graph, config.val, config.test, **given)
    return split_by_time(graph, starts, config.known, stream, config.message_edges == "train_val")


def _of_all(made: StructuralFeatures, graph: Graph) -> StructuralFeatures:
    """What was fitted on the nodes of the past, for a graph in which they are the first."""
    there = made.degrees.size
    if there == graph.num_nodes:
        return made
    return made.renumbered(slice(there), slice(there), graph.num_nodes)


def _with_made(made: StructuralFeatures, graph: Graph) -> Graph:
    """A graph with columns from its edges, beside its features or in their place."""
    columns = _of_all(made, graph).transform(graph)
    return graph.with_made(columns) if graph.features is not None else graph.with_features(columns)
