"""The record of a cell: what was run, how, and what came out, as one JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from maskgae.config import Settings
from maskgae.evaluation.metrics import summary
from maskgae.experiment.cell import Cell, uses
from maskgae.experiment.judge import RANDOM_SPLITS
from maskgae.experiment.protocol import Run
from maskgae.graph.datasets import DATASETS


def make_record(cell: Cell, runs: Sequence[Run], load_s: float = 0.0) -> dict[str, Any]:
    """Aggregates the runs of a cell; fractions throughout, ``std`` with ddof 1."""
    flat = cell.settings.flat().items()
    settings = {k: v for k, v in flat if k != "seed" and uses(cell.method, k)}
    return {
        "task": cell.task,
        "dataset": cell.dataset,
        "method": cell.method,
        "mask": settings.get("mask.kind"),
        "semantics": settings.get("mask.semantics"),
        "preset": cell.preset,
        "protocol": _link_protocol(cell) if cell.task == "link" else _node_protocol(cell, runs[0]),
        "settings": settings,
        "seeds": [run.seed for run in runs],
        "metrics": _summaries([run.metrics for run in runs]),
        "sanity": {row: _summaries([run.sanity[row] for run in runs]) for row in runs[0].sanity},
        "audit": _means([run.audit for run in runs]),
        "facts": _means([run.facts for run in runs]),
        "time_s": _times(runs, load_s),
        "peak_rss_mb": max(run.peak_rss_mb for run in runs),
        "versions": _means([run.versions for run in runs]),
        "threads": _agreed([run.threads for run in runs]),
    }


def own_protocol(settings: Settings, holdout: bool) -> dict[str, Any]:
    """How the numbers on links of a graph of one's own come about, in a few words each."""
    if not holdout:
        return {"split": "none: all pairs are trained on", "selection": "last"}
    config = settings.split
    return {
        "split": f"val {config.val:g}, test {config.test:g} of the pairs, a new split a seed",
        "negatives": "as many as positives, uniform non-edges of the whole graph",
        "message_edges": config.message_edges,
        "selection": settings.training.select,
    }


def _link_protocol(cell: Cell) -> dict[str, Any]:
    own = own_protocol(cell.settings, holdout=True)
    return own | {"split": "public", "negatives": "public"} if cell.dataset == "Collab" else own


def _node_protocol(cell: Cell, run: Run) -> dict[str, Any]:
    entry, config = DATASETS.get(cell.dataset), cell.settings.split
    public = entry is not None and entry.split == "public"
    return {
        "split": "public" if public else "random 10/10/80, a new split a seed",
        "random_splits": RANDOM_SPLITS if "accuracy_random_splits" in run.metrics else 0,
        "held_out_pairs": config.val,
        "probe": cell.settings.probe.kind,
        "selection": cell.settings.training.select,
    }


def _summaries(rows: Sequence[Any]) -> dict[str, Any]:
    return {name: summary([row[name] for row in rows]) for name in rows[0]}


def _agreed(values: Sequence[Any]) -> Any:
    """What all runs have, or a list of what each has."""
    return values[0] if all(value == values[0] for value in values) else list(values)


def _means(rows: Sequence[Any]) -> dict[str, Any]:
    """What all runs agree on is kept; other numbers are averaged, and what is none is listed."""
    result: dict[str, Any] = {}
    for key, first in rows[0].items():
        found = _agreed([row[key] for row in rows])
        averaged = isinstance(found, list) and isinstance(first, int | float)
        result[key] = fmean(found) if averaged else found
    return result


def _times(runs: Sequence[Run], load_s: float) -> dict[str, float]:
    train = sum(run.time_s["train"] for run in runs)
    evaluate = sum(run.time_s["evaluate"] for run in runs)
    per_epoch = [run.facts["per_epoch_s"] for run in runs if "per_epoch_s" in run.facts]
    times = {"load": load_s, "train": train, "evaluate": evaluate}
    times["total"] = load_s + train + evaluate
    if per_epoch:
        times["per_epoch"] = sum(per_epoch) / len(per_epoch)
    return {name: round(seconds, 4) for name, seconds in times.items()}
