"""What ``maskgae tune`` tried, from its log: every point with its validation number."""

from __future__ import annotations

import json
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
    """A table of all points that were tried, best first for each task and dataset."""
    rows = []
    for task, metric in OBJECTIVE.items():
        for dataset in records.datasets(task):
            points = list(_points(records.runs(task, dataset), metric))
            names = _varied([settings for settings, _ in points])
            points.sort(key=lambda point: -float(point[1]["mean"]))
            for settings, found in points:
                chosen = ", ".join(f"`{name}={_short(settings[name])}`" for name in names)
                count = str(len(found["values"]))
                rows.append([f"{task}: {dataset}", chosen, percent(found), count])
    return {"tuning": markdown_table(["", "settings", "validation", "n"], rows)}


def _points(runs: Mapping[Key, Run], metric: str) -> Iterator[tuple[Values, Any]]:
    """The settings of each cell with the summary of its runs, whatever their order in the file."""
    for _, cell in groupby(sorted(runs), key=lambda key: key[0]):
        own = [runs[key] for key in cell]
        settings = Settings().flat() | own[0]["cell"]["settings"]
        yield settings, summary([run["metrics"][metric] for run in own])


def _varied(settings: Sequence[Values]) -> list[str]:
    """The settings that are not the same everywhere."""
    return [
        name
        for name in settings[0]
        if name not in APART and len({json.dumps(each.get(name)) for each in settings}) > 1
    ]


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
