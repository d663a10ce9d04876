"""The record: what was run, how, and what came out, as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from maskgae.base.settings import Settings
from maskgae.evaluation.metrics import summary
from maskgae.evaluation.outcome import Outcome


def make_record(
    about: Mapping[str, Any],
    settings: Mapping[str, Any],
    protocol: Mapping[str, Any],
    outcomes: Sequence[Outcome],
    load_s: float = 0.0,
) -> dict[str, Any]:
    """Aggregates the outcomes of some seeds; fractions throughout, ``std`` with ddof 1.

    Args:
        about: task, dataset, method and preset.
        settings: those that concern the method, by dotted key.
        protocol: how the numbers came about, in a few words each.
        outcomes: one for each seed.
        load_s: seconds that reading took.
    """
    return {
        "task": about["task"],
        "dataset": about["dataset"],
        "method": about["method"],
        "mask": settings.get("mask.kind"),
        "semantics": settings.get("mask.semantics"),
        "preset": about["preset"],
        "protocol": dict(protocol),
        "settings": dict(settings),
        "seeds": [one.seed for one in outcomes],
        "metrics": _summaries([one.metrics for one in outcomes]),
        "sanity": {
            row: _summaries([one.sanity[row] for one in outcomes])
            for row in _shared([one.sanity for one in outcomes])
        },
        "audit": _means([one.audit for one in outcomes]),
        "facts": _means([one.facts for one in outcomes]),
        "time_s": _times(outcomes, load_s),
        "peak_rss_mb": max(one.peak_rss_mb for one in outcomes),
        "versions": _means([one.versions for one in outcomes]),
        "threads": _agreed([one.threads for one in outcomes]),
    }


def check_record(record: Any) -> dict[str, Any]:
    """A record that was read from a file, if it is one.

    Raises:
        ValueError: with what is wrong.
    """
    parts = ("protocol", "settings", "metrics", "sanity", "audit", "facts", "time_s")
    if not isinstance(record, dict) or not all(isinstance(record.get(k), dict) for k in parts):
        raise ValueError(f"a record has the parts {', '.join(parts)}")
    for row in (record["metrics"], *record["sanity"].values()):
        for name, found in row.items():
            if not isinstance(found, dict) or not _is_number(found.get("mean")):
                raise ValueError(f"'{name}' must have a mean")
            values = found.get("values")
            if not isinstance(values, list) or not all(map(_is_number, values)):
                raise ValueError(f"'{name}' must have values")
    if not all(_is_number(value) for value in record["time_s"].values()):
        raise ValueError("times must be numbers")
    if not isinstance(record.get("seeds"), list) or not _is_number(record.get("peak_rss_mb")):
        raise ValueError("seeds and peak memory must be there")
    return record


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def link_protocol(settings: Settings, holdout: bool = True) -> dict[str, Any]:
    """How the numbers on links come about, in a few words each."""
    if not holdout:
        return {"split": "none: all edges are trained on", "selection": "last"}
    config = settings.split
    return {
        "split": f"val {config.val:g}, test {config.test:g} of the edges, a new split per seed",
        "negatives": "as many negative samples as edges: uniform non-edges of the whole graph",
        "message_edges": config.message_edges,
        "selection": settings.training.select,
    }


def _summaries(rows: Sequence[Any]) -> dict[str, Any]:
    return {name: summary([row[name] for row in rows]) for name in _shared(rows)}


def _shared(rows: Sequence[Any]) -> list[str]:
    """The names that all runs have: those kept by an older version may lack a newer one."""
    return [name for name in rows[0] if all(name in row for row in rows)]


def _agreed(values: Sequence[Any]) -> Any:
    """What all runs have, or a list of what each has."""
    return values[0] if all(value == values[0] for value in values) else list(values)


def _means(rows: Sequence[Any]) -> dict[str, Any]:
    """What all runs agree on is kept; other numbers are averaged, and what is none is listed."""
    result: dict[str, Any] = {}
    for key in _shared(rows):
        found = _agreed([row[key] for row in rows])
        averaged = isinstance(found, list) and isinstance(rows[0][key], int | float)
        result[key] = fmean(found) if averaged else found
    return result


def _times(outcomes: Sequence[Outcome], load_s: float) -> dict[str, float]:
    train = sum(one.time_s["train"] for one in outcomes)
    evaluate = sum(one.time_s["evaluate"] for one in outcomes)
    per_epoch = [one.facts["per_epoch_s"] for one in outcomes if "per_epoch_s" in one.facts]
    times = {"load": load_s, "train": train, "evaluate": evaluate}
    times["total"] = load_s + train + evaluate
    if per_epoch:
        times["per_epoch"] = sum(per_epoch) / len(per_epoch)
    return {name: round(seconds, 4) for name, seconds in times.items()}
