"""What ``maskgae tune`` tried, from its log: every point with its validation number."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from maskgae.base.display import percent
from maskgae.base.settings import APART, Settings
from maskgae.evaluation.metrics import summary
from maskgae.lab.records import Key, Records, Run
from maskgae.lab.tables.blocks import markdown_table
from maskgae.lab.tuning import OBJECTIVE

Values = Mapping[str, Any]


def tuning_blocks(records: Records) -> dict[str, str]:
    """A table of all points that were tried, best first for each task, dataset and method."""
    rows = []
    for task, metric in OBJECTIVE.items():
        for dataset in records.datasets(task):
            found = records.runs(task, dataset)
            for method in sorted({run["cell"]["method"] for run in found.values()}):
                own = {key: run for key, run in found.items() if run["cell"]["method"] == method}
                name = f"{task}: {dataset}" + ("" if method == "maskgae" else f", {method}")
                rows += [[name, *cells] for cells in _lines(list(_points(own, metric)))]
    head = ["", "settings that most points do not have", "validation", "n"]
    return {"tuning": markdown_table(head, rows)}


def _lines(points: list[tuple[Values, Any]]) -> Iterator[list[str]]:
    """What sets each point apart, its validation number and how many runs it has, best first."""
    usual = _usual([settings for settings, _ in points])
    for settings, found in sorted(points, key=lambda point: -float(point[1]["mean"])):
        own = [
            f"`{name}={_short(settings[name])}`"
            for name, value in usual.items()
            if name in settings and json.dumps(settings[name]) != value
        ]
        yield [", ".join(own), percent(found), str(len(found["values"]))]


def _points(runs: Mapping[Key, Run], metric: str) -> Iterator[tuple[Values, Any]]:
    """The settings of each cell with the summary of its runs, whatever their order in the file."""
    for _, cell in groupby(sorted(runs), key=lambda key: key[0]):
        own = [runs[key] for key in cell]
        settings = Settings().flat() | own[0]["cell"]["settings"]
        yield settings, summary([run["metrics"][metric] for run in own])


def _usual(settings: Sequence[Values]) -> dict[str, str]:
    """What most points have, as JSON, where not all have the same; nothing where none is usual.

    >>> _usual([{"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 1, "b": 3}])
    {'b': '3'}
    """
    found = {}
    for name in dict.fromkeys(name for each in settings for name in each):
        counts = Counter(json.dumps(each.get(name)) for each in settings)
        if name not in APART and len(counts) > 1:
            value, count = counts.most_common(1)[0]
            found[name] = value if 2 * count > len(settings) else ""
    return found


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
