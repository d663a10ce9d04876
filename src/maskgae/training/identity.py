"""What makes two training runs the same."""

from __future__ import annotations

import hashlib
from typing import Any

from torch import Tensor, nn

from maskgae.base.settings import WITHOUT_EFFECT, Settings
from maskgae.base.tensors import content
from maskgae.data.features import Features, JoinedFeatures, SparseFeatures
from maskgae.data.graph import Graph
from maskgae.evaluation.method import Validation


def identity_of(
    settings: Settings, graph: Graph, validation: Validation | None, net: nn.Module
) -> dict[str, Any]:
    """Everything that decides how a training run goes, by name; large things as digests.

    Args:
        settings: those that matter are compared one by one.
        graph: the training graph.
        validation: what it is stopped on.
        net: as it is before the first step.
    """
    held_out = () if validation is None else (validation.pairs, validation.negatives)
    return {
        **{key: value for key, value in settings.flat().items() if key not in WITHOUT_EFFECT},
        "the number of nodes": graph.num_nodes,
        "the training edges": digest_of(graph.pairs),
        "the edge weights": digest_of(*(() if graph.weights is None else (graph.weights,))),
        "the features": digest_of(*feature_tensors(graph.inputs)),
        "the held-out edges": digest_of(*held_out),
        "the weights to start from": digest_of(*net.state_dict().values()),
    }


def feature_tensors(features: Features | None) -> list[Tensor]:
    """The tensors that features are made of."""
    if features is None:
        return []
    if isinstance(features, JoinedFeatures):
        return [tensor for part in features.parts for tensor in feature_tensors(part)]
    if isinstance(features, SparseFeatures):
        rows = features.by_row
        values = [] if rows.values is None else [rows.values]
        return [rows.indptr, rows.indices, *values]
    return [features.dense()]


def digest_of(*tensors: Tensor) -> str:
    """A short text that stands for the content of tensors."""
    digest = hashlib.blake2b(digest_size=8)
    for tensor in tensors:
        digest.update(f"{tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(content(tensor))
    return digest.hexdigest()
