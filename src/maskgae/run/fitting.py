"""Fitting one graph of one's own: hold out, train, score, then embed with every edge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from maskgae.base.device import check_device
from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.data.splits import LinkSplit, split_links
from maskgae.data.structural import StructuralFeatures
from maskgae.evaluation.audit import audit_split
from maskgae.evaluation.link_task import link_task, validation_pairs
from maskgae.evaluation.method import Listener
from maskgae.evaluation.metrics import summary
from maskgae.evaluation.node_task import Judge
from maskgae.evaluation.outcome import Outcome
from maskgae.evaluation.record import link_protocol, make_record
from maskgae.nn.network import MaskGAENet
from maskgae.training import Checkpoints, FittedMaskGAE, MaskGAEMethod, TrainingState
from maskgae.training.memory import JUDGED_NODES
from maskgae.training.parallel import ranks

#: Columns of the features that are made from a graph without any.
STRUCTURAL_WIDTH = 128


@dataclass(frozen=True, eq=False)
class Fit:
    """A trained network with the graph it was trained for and what was measured on the way.

    Args:
        net: the network.
        graph: all nodes and all pairs, with the features that the network reads.
        split: what was held out, or ``None``.
        structural: what made the features, where the graph brought none.
        state: where the training ended.
        record: settings, metrics, sanity rows, audit, times.
        embedding: ``[N, D]``, with all edges as messages.
    """

    net: MaskGAENet
    graph: Graph
    split: LinkSplit | None
    structural: StructuralFeatures | None
    state: TrainingState
    record: dict[str, Any]
    embedding: Tensor


def fit_graph(
    graph: Graph,
    settings: Settings,
    *,
    holdout: bool = True,
    device: str = "cpu",
    listener: Listener | None = None,
    start: dict[str, Tensor] | None = None,
    checkpoints: Checkpoints | None = None,
) -> Fit:
    """Trains on a graph and measures how well it went.

    Args:
        graph: with or without features; labels are used for evaluation only.
        settings: everything that can be chosen.
        holdout: whether to hold out pairs for stopping and for the test; without, all pairs are
            trained on for the given epochs.
        device: where to compute.
        listener: called after every epoch.
        start: weights to begin with instead of random ones.
        checkpoints: where to save to and to go on from, or ``None`` to keep nothing.
    """
    check_device(device)
    if graph.num_pairs == 0:
        raise InputError(f"{graph.name} has no edges: there is nothing to learn from")
    stream = Stream(settings.seed)
    graph, split, structural = _prepared(graph, settings, holdout, stream)
    method = _WarmStart(settings, device, checkpoints, start)
    run, fitted = _trained(method, settings, graph, split, listener)
    embedding = _embedded(fitted.net, graph)
    about = {"task": "link", "dataset": graph.name, "method": "maskgae", "preset": None}
    flat = {key: value for key, value in settings.flat().items() if key != "seed"}
    record = make_record(about, flat, link_protocol(settings, holdout), [run])
    record["audit"]["features_from_structure"] = structural is not None
    if graph.labels is not None:
        _add_label_metrics(record, settings, graph, embedding, stream)
    return Fit(fitted.net, graph, split, structural, fitted.state, record, embedding)


def follow_fit(
    graph: Graph,
    settings: Settings,
    *,
    holdout: bool = True,
    device: str = "cpu",
    start: dict[str, Tensor] | None = None,
    checkpoints: Checkpoints | None = None,
) -> None:
    """What the other ranks do of :func:`fit_graph`: their part of training and embedding."""
    stream = Stream(settings.seed)
    graph, split, _ = _prepared(graph, settings, holdout, stream)
    train, validation = graph, None
    if split is not None:
        train, validation = split.train, validation_pairs(split, settings)
    fitted = _WarmStart(settings, device, checkpoints, start).fit(train, validation, stream)
    _embedded(fitted.net, graph)


def _prepared(
    graph: Graph, settings: Settings, holdout: bool, stream: Stream
) -> tuple[Graph, LinkSplit | None, StructuralFeatures | None]:
    """The graph and its split, with features from structure where it brought none."""
    split = None
    if holdout:
        split = split_links(graph, settings.split.val, settings.split.test, stream.at("split"))
    structural = _structural(graph if split is None else split.train, settings, stream)
    if structural is not None:
        graph = graph.with_features(structural.transform(graph))
        if split is not None:
            train = split.train.with_features(structural.transform(split.train))
            split = replace(split, train=train)
    return graph, split, structural


def _embedded(net: MaskGAENet, graph: Graph) -> Tensor:
    """The embedding of every node, each rank computing its rows; whole on rank 0 alone."""
    here = ranks()
    if here.alone:
        return net.embed(graph).cpu()
    own = net.embed(graph, here.rows(graph.num_nodes))
    return here.gathered(own, graph.num_nodes).cpu()


def _structural(train: Graph, settings: Settings, stream: Stream) -> StructuralFeatures | None:
    """Features from training edges, where there are neither features nor learnable vectors."""
    if train.features is not None or settings.encoder.node_embedding:
        return None
    return StructuralFeatures.fit(train, STRUCTURAL_WIDTH, stream.at("structure"))


def _trained(
    method: MaskGAEMethod,
    settings: Settings,
    graph: Graph,
    split: LinkSplit | None,
    listener: Listener | None,
) -> tuple[Outcome, FittedMaskGAE]:
    if split is None:
        fitted = method.fit(graph, None, Stream(settings.seed), listener)
        seconds = sum(row["seconds"] for row in fitted.state.history)
        times = {"train": seconds, "evaluate": 0.0}
        return Outcome(settings.seed, {}, {}, {}, fitted.facts, times), fitted
    audit, untrained = audit_split(graph, split), MaskGAEMethod(settings).untrained
    return link_task(method, untrained, graph, split, settings, audit=audit, listener=listener)


def _add_label_metrics(
    record: dict[str, Any], settings: Settings, graph: Graph, embedding: Tensor, stream: Stream
) -> None:
    """What a linear probe reads off the embedding, beside the same from plain features."""
    if graph.num_nodes > JUDGED_NODES:
        graph, embedding = _sampled(graph, embedding, stream.at("judged"))
    try:
        judge = Judge(settings.probe, graph, stream)
        rows = {"": judge.embedding(embedding.numpy()), **judge.feature_rows()}
    except InputError as error:  # too few labels to judge by: the training is not lost for that
        record["protocol"]["probe"] = f"left out: {error}"
        return
    for name, row in rows.items():
        values = {key: summary([value]) for key, value in row.items()}
        target = record["metrics"] if name == "" else record["sanity"].setdefault(name, {})
        target.update(values)


def _sampled(graph: Graph, embedding: Tensor, stream: Stream) -> tuple[Graph, Tensor]:
    """Some of the labelled nodes, without edges, and their vectors."""
    assert graph.labels is not None
    labelled = (graph.labels >= 0).nonzero().squeeze(1)
    order = torch.randperm(labelled.numel(), generator=stream.torch())
    nodes = labelled[order[:JUDGED_NODES]].sort().values
    features = None if graph.features is None else graph.features.rows(nodes)
    none = torch.empty(2, 0, dtype=torch.long)
    part = Graph(nodes.numel(), none, features, graph.labels[nodes], name=graph.name)
    return part, embedding[nodes]


@dataclass(frozen=True)
class _WarmStart(MaskGAEMethod):
    """MaskGAE that begins with given weights."""

    start: dict[str, Tensor] | None = None

    def untrained(self, graph: Graph, stream: Stream) -> MaskGAENet:
        net = super().untrained(graph, stream)
        if self.start is not None:
            _check_shapes(self.start, net)
            net.load_state_dict(self.start)
        return net


def _check_shapes(start: dict[str, Tensor], net: MaskGAENet) -> None:
    own = {name: tuple(value.shape) for name, value in net.state_dict().items()}
    given = {name: tuple(value.shape) for name, value in start.items()}
    if own != given:
        differing = sorted(n for n in own.keys() | given.keys() if own.get(n) != given.get(n))
        raise InputError(
            f"the weights to start from do not fit this graph and settings: {differing[0]} is "
            f"{given.get(differing[0])} there and {own.get(differing[0])} here; "
            "use the same settings and the same columns"
        )
