"""Choosing settings on validation data; no test number is computed here.

Splits come from seeds of their own (:data:`FIRST_SEED` on), so that what is chosen here is judged
on splits that the choice has not seen.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import torch

from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.data.labels import NodeSplit
from maskgae.data.splits import hold_out, split_links, split_nodes, split_nodes_like
from maskgae.evaluation.link_task import validation_pairs
from maskgae.evaluation.method import Embeds, Fitted, Scores, Validation
from maskgae.evaluation.metrics import link_metrics
from maskgae.evaluation.outcome import Outcome
from maskgae.evaluation.probe import probe
from maskgae.lab.cell import Cell, make_cell
from maskgae.lab.records import Records

#: The first seed of a tuning; those of tables start at 0.
FIRST_SEED = 1000
#: Random node splits on whose validation nodes an embedding is judged.
NODE_SPLITS = 10

OBJECTIVE = {"link": "val_auc", "node": "val_accuracy"}


def grid_cells(
    task: str,
    dataset: str,
    mask: str,
    grid: Mapping[str, Sequence[Any]],
    overrides: Mapping[str, Any] | None = None,
    method: str = "maskgae",
) -> list[Cell]:
    """A cell for each point of a grid of dotted keys, those of a method's own among them.

    >>> grid = {"mask.p": (0.3, 0.5), "encoder.dim": (64, 128)}
    >>> len(grid_cells("link", "Cora", "edge", grid))
    4
    >>> [cell.own.dropout for cell in grid_cells(
    ...     "link", "Cora", "edge", {"mgae.dropout": (0.2, 0.5)}, method="mgae")]
    [0.2, 0.5]
    """
    points = itertools.product(*grid.values())
    return [
        make_cell(
            task,
            dataset,
            mask=mask,
            overrides={**(overrides or {}), **dict(zip(grid, point, strict=True))},
            method=method,
        )
        for point in points
    ]


def validate_seed(cell: Cell, graph: Graph, seed: int) -> Outcome:
    """Fits a cell and scores validation pairs, or a probe on validation nodes, and nothing else."""
    stream, started = Stream(seed), time.perf_counter()
    config = cell.settings.split
    validation: Validation | None
    if cell.task == "link":
        split = split_links(graph, config.val, config.test, stream.at("split"))
        validation = Validation(split.val, split.val_negatives)
    else:
        split = hold_out(graph, config.val, stream.at("split"))
        validation = validation_pairs(split, cell.settings)
    fitted = cell.method_on("cpu", seed).fit(split.train, validation, stream)
    trained = time.perf_counter()
    if cell.task == "link":
        assert validation is not None
        metrics = _link_validation(fitted, split.train, validation)
    else:
        metrics = _node_validation(fitted, graph, cell.settings, stream)
    times = {"train": trained - started, "evaluate": time.perf_counter() - trained}
    return Outcome(seed, metrics, {}, {}, fitted.facts, times)


def ranking(cells: Sequence[Cell], seeds: Sequence[int], records: Records) -> list[dict[str, Any]]:
    """The cells that have been validated, best first: settings changed, mean, deviation, n."""
    rows = []
    for cell in cells:
        record = records.record(cell, seeds)
        if record is not None:
            value = record["metrics"][OBJECTIVE[cell.task]]
            rows.append({"cell": cell, **value, "train_s": record["time_s"]["train"]})
    return sorted(rows, key=lambda row: -row["mean"])


def _link_validation(fitted: Fitted, train: Graph, validation: Validation) -> dict[str, float]:
    assert isinstance(fitted, Scores)
    pairs = torch.cat([validation.pairs, validation.negatives], dim=1)
    scores = fitted.score(train, pairs).double().numpy()
    count = validation.pairs.shape[1]
    metrics = link_metrics(scores[:count], scores[count:])
    return {f"val_{name}": value for name, value in metrics.items()}


def _node_validation(
    fitted: Fitted, graph: Graph, settings: Settings, stream: Stream
) -> dict[str, float]:
    """Mean validation accuracy over random splits; a public split's test nodes are in none."""
    assert isinstance(fitted, Embeds) and graph.labels is not None
    embedding, labels = fitted.embed(graph).numpy(), graph.labels
    if graph.node_split is not None:
        labels = labels.index_fill(0, graph.node_split.test, -1)
    values = []
    for number in range(NODE_SPLITS if graph.node_split else 2):
        nodes = stream.at("nodes", number)
        if graph.node_split is None:
            drawn = split_nodes(labels, nodes)
        else:
            drawn = split_nodes_like(graph.node_split, labels, nodes)
        blind = NodeSplit(drawn.train, drawn.val, drawn.val)
        values.append(probe(embedding, labels, blind, settings.probe, nodes)["val_accuracy"])
    return {"val_accuracy": fmean(values)}
