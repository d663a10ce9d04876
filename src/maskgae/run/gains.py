"""What training added to the answer that a fit gives without a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maskgae.base.display import METRIC_NAMES

#: What is compared: a metric, the row that stands for the same answer without a network, its name.
COMPARED = (
    ("rank_mrr", "rules", "the rules alone"),
    ("accuracy", "joined_inputs", "the joined inputs"),
)


def gains(record: Mapping[str, Any]) -> Iterator[str]:
    """A line for each comparison that a run's record allows.

    >>> row = lambda mean: {"rank_mrr": {"mean": mean}}
    >>> next(gains({"metrics": row(0.28), "sanity": {"rules": row(0.25)}}))
    'training added 3.0 points of rank MRR to the rules alone: 28.0, not 25.0'
    >>> next(gains({"metrics": row(0.25), "sanity": {"rules": row(0.25)}}))
    'training added no rank MRR to the rules alone: 25.0, and 25.0 by fit --quick'
    """
    trained = record.get("settings", {}).get("encoder.kind") != "none"
    for metric, row, name in COMPARED:
        without = record["sanity"].get(row, {}).get(metric)
        if without is None or metric not in record["metrics"] or not trained:
            continue
        after, before = (100 * found["mean"] for found in (record["metrics"][metric], without))
        gain, what = after - before, METRIC_NAMES[metric]
        if gain >= 0.05:
            figures = f"{after:.1f}, not {before:.1f}"
            yield f"training added {gain:.1f} points of {what} to {name}: {figures}"
        else:
            figures = f"{after:.1f}, and {before:.1f} by fit --quick"
            yield f"training added no {what} to {name}: {figures}"
