"""What a linear probe reads off a run's embedding, where its graph has labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.evaluation.metrics import summary
from maskgae.evaluation.node_task import Judge
from maskgae.training.memory import JUDGED_NODES

Vectors = NDArray[np.float32]


def add_label_metrics(
    record: dict[str, Any], settings: Settings, graph: Graph, embedding: Vectors
) -> None:
    """Adds the probe's metrics to a record, beside the same from plain features."""
    stream = Stream(settings.seed)
    if graph.num_nodes > JUDGED_NODES:
        graph, embedding = _sampled(graph, embedding, stream.at("judged"))
    try:
        judge = Judge(settings.probe, graph, stream, settings.embedding.power)
        rows = {"": judge.embedding(embedding), **judge.feature_rows}
    except InputError as error:  # too few labels to judge by: the training is not lost for that
        record["protocol"]["probe"] = f"left out: {error}"
        return
    for name, row in rows.items():
        values = {key: summary([value]) for key, value in row.items()}
        target = record["metrics"] if name == "" else record["sanity"].setdefault(name, {})
        target.update(values)


def _sampled(graph: Graph, embedding: Vectors, stream: Stream) -> tuple[Graph, Vectors]:
    """Some of the labelled nodes, without edges, and their embeddings."""
    assert graph.labels is not None
    labelled = (graph.labels >= 0).nonzero().squeeze(1)
    order = torch.randperm(labelled.numel(), generator=stream.torch())
    nodes = labelled[order[:JUDGED_NODES]].sort().values
    features = None if graph.features is None else graph.features.rows(nodes)
    none = torch.empty(2, 0, dtype=torch.long)
    part = Graph(nodes.numel(), none, features, graph.labels[nodes], name=graph.name)
    return part, embedding[nodes.numpy()]
