"""What training added to the answer that a fit gives without a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maskgae.base.display import METRIC_NAMES, ROW_NAMES

#: What is compared: a metric, and the row that stands for the same answer without a network.
COMPARED = (("rank_mrr", "rules"), ("accuracy", "joined_inputs"))


def gains(record: Mapping[str, Any]) -> Iterator[str]:
    """A line for each comparison that a run's record allows.

    >>> row = lambda mean: {"rank_mrr": {"mean": mean}}
    >>> list(gains({"metrics": row(0.28), "sanity": {"rules": row(0.25)}}))
    ['training adds 3.0 points of rank MRR to rules alone, combined: 28.0, not 25.0']
    >>> next(gains({"metrics": row(0.25), "sanity": {"rules": row(0.25)}}))[:43]
    'training adds nothing to rules alone, combi'
    """
    trained = record.get("settings", {}).get("encoder.kind") != "none"
    for metric, row in COMPARED:
        without = record["sanity"].get(row, {}).get(metric)
        if without is None or metric not in record["metrics"] or not trained:
            continue
        after, before = (100 * found["mean"] for found in (record["metrics"][metric], without))
        name, other = METRIC_NAMES[metric], ROW_NAMES[row]
        if after - before >= 0.05:
            yield (
                f"training adds {after - before:.1f} points of {name} to {other}: {after:.1f}, "
                f"not {before:.1f}"
            )
        else:
            yield (
                f"training adds nothing to {other}, by {name}: {after:.1f} after, {before:.1f} "
                "before; 'maskgae fit --quick' gives that answer in seconds"
            )
