"""The node task: fit without labels, then read the labels off the embedding by a probe.

The same splits and the same probe judge the method, raw and smoothed features, and an untrained
network.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property
from statistics import fmean
from typing import Any

from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import ProbeConfig, Settings
from maskgae.data.graph import Graph
from maskgae.data.labels import NodeSplit
from maskgae.data.splits import hold_out, split_nodes, split_nodes_like
from maskgae.evaluation.audit import audit_split
from maskgae.evaluation.heuristics import propagated_features
from maskgae.evaluation.link_task import Untrained, validation_pairs
from maskgae.evaluation.method import Classifies, Embeds, Fitted, Method, OnEpoch
from maskgae.evaluation.metrics import classification_metrics
from maskgae.evaluation.outcome import Metrics, Outcome, mask_facts
from maskgae.evaluation.probe import probe
from maskgae.nn.readout import Readout

#: Above this many nodes a public split is large enough to speak for itself.
LARGE = 100_000
#: Columns of the joined inputs, as many as an embedding of ``fit`` has.
JOINED_COLUMNS = 256


class Judge:
    """Scores embeddings and classifiers on one graph's labels.

    The split is the graph's own where it has one, else random 10/10/80. A public split of a few
    fixed test nodes says little about chance, so random splits of its sizes stand beside it.

    Args:
        config: the probe.
        graph: with labels.
        stream: where splits and initial weights come from.
        power: of the joined inputs that stand beside an embedding, as in it.
    """

    def __init__(
        self, config: ProbeConfig, graph: Graph, stream: Stream, power: float = 1.0
    ) -> None:
        assert graph.labels is not None
        self.power = power
        self.graph, self.labels, self.config = graph, graph.labels, config
        self.stream = stream.at("probe")
        nodes = stream.at("nodes")
        self.split = graph.node_split or split_nodes(graph.labels, nodes)
        self.random_splits: list[NodeSplit] = []
        if graph.node_split is not None and graph.num_nodes < LARGE:
            self.random_splits = [
                split_nodes_like(graph.node_split, graph.labels, nodes.at(i))
                for i in range(config.random_splits)
            ]

    def embedding(self, embedding: Any) -> Metrics:
        """The probe's metrics on the split, and its mean accuracy on the random ones."""
        result = probe(embedding, self.labels, self.split, self.config, self.stream)
        row = {key: result[key] for key in ("accuracy", "macro_f1", "val_accuracy")}
        if self.random_splits:
            row["accuracy_random_splits"] = fmean(
                probe(embedding, self.labels, split, self.config, self.stream.at(i))["accuracy"]
                for i, split in enumerate(self.random_splits)
            )
        return row

    @cached_property
    def feature_rows(self) -> dict[str, Metrics]:
        """The baselines that need no network: raw, smoothed twice (SGC), and joined inputs."""
        if self.graph.features is None:
            return self._joined_inputs()
        rows = {"raw_features": self.embedding(self.graph.features.scipy())}
        if self.graph.num_pairs:  # a sample of a large graph's nodes comes without edges
            rows["propagated_features"] = self.embedding(propagated_features(self.graph))
        return rows | self._joined_inputs()

    def _joined_inputs(self) -> dict[str, Metrics]:
        """What goes into an embedding, without a network, in as many columns."""
        if not self.graph.num_pairs or self.graph.num_nodes > LARGE:
            return {}
        stream = self.stream.at("joined")
        made = Readout.fit([], self.graph, JOINED_COLUMNS, stream, power=self.power)
        return {"joined_inputs": self.embedding(made([], self.graph).numpy())}

    def classes(self, predicted: Tensor) -> Metrics:
        """The metrics of a class for each node, ``[N]``."""
        val, test = self.split.val, self.split.test
        row = classification_metrics(self.labels[test], predicted[test])
        row["val_accuracy"] = float((self.labels[val] == predicted[val]).double().mean())
        return row

    def fitted(self, fitted: Fitted) -> Metrics:
        """The metrics of whatever a method offers for this task."""
        if isinstance(fitted, Embeds):
            return self.embedding(fitted.embed(self.graph).cpu().numpy())
        if isinstance(fitted, Classifies):
            return self.classes(fitted.classify(self.graph).cpu())
        raise InputError("this method gives no embedding and no classes: evaluate it on links")


def node_task(
    method: Method,
    untrained: Untrained,
    graph: Graph,
    settings: Settings,
    on_epoch: OnEpoch | None = None,
    judge: Judge | None = None,
) -> Outcome:
    """Fits a method on all but the validation pairs of a graph and judges it by the labels.

    Args:
        method: what is evaluated.
        untrained: makes the network of one of the baselines' rows.
        graph: with labels.
        settings: the seed, the probe, the share of pairs that training is stopped on.
        on_epoch: called after every epoch.
        judge: one for the same graph, probe and seed, where there is one already.
    """
    stream = Stream(settings.seed)
    judge = judge or Judge(settings.probe, graph, stream, settings.embedding.power)
    # Supervised methods learn from the nodes that the probe learns from.
    graph = replace(graph, node_split=judge.split)
    split = hold_out(graph, settings.split.val, stream.at("split"))
    audit = audit_split(graph, split)
    started = time.perf_counter()
    fitted = method.fit(split.train, validation_pairs(split, settings), stream, on_epoch)
    trained = time.perf_counter()
    sanity = dict(judge.feature_rows)
    if settings.encoder.kind != "none":
        before = untrained(graph, stream).embed(graph)
        sanity["untrained"] = judge.embedding(before.numpy())
    return Outcome(
        seed=settings.seed,
        metrics=judge.fitted(fitted),
        sanity=sanity,
        audit={**audit, **mask_facts(fitted.facts)},
        facts=fitted.facts,
        time_s={"train": trained - started, "evaluate": time.perf_counter() - trained},
    )
