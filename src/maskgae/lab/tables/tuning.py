"""What ``maskgae tune`` tried, from its log: every point with its validation number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from maskgae.base.display import percent
from maskgae.base.settings import APART
from maskgae.evaluation.metrics import summary
from maskgae.lab.tables.blocks import markdown_table
from maskgae.lab.tuning import OBJECTIVE

Settings = Mapping[str, Any]


def tuning_blocks(folder: Path) -> dict[str, str]:
    """A table of all points that were tried, best first for each task and dataset."""
    rows = []
    for task, metric in OBJECTIVE.items():
        for dataset in sorted((folder / task).glob("*")):
            points = list(_points(dataset, metric))
            names = _varied([settings for settings, _ in points])
            points.sort(key=lambda point: -float(point[1]["mean"]))
            for settings, found in points:
                chosen = ", ".join(f"`{name}={_short(settings[name])}`" for name in names)
                runs = str(len(found["values"]))
                rows.append([f"{task}: {dataset.name}", chosen, percent(found), runs])
    return {"tuning": markdown_table(["", "settings", "validation", "n"], rows)}


def _points(folder: Path, metric: str) -> Iterator[tuple[Settings, Any]]:
    """The settings of each cell with the summary of its runs."""
    for cell in sorted(folder.iterdir()):
        runs = [
            json.loads(path.read_text(encoding="utf-8")) for path in sorted(cell.glob("*.json"))
        ]
        yield runs[0]["cell"]["settings"], summary([run["metrics"][metric] for run in runs])


def _varied(settings: Sequence[Settings]) -> list[str]:
    """The settings that are not the same everywhere."""
    return [
        name
        for name in settings[0]
        if name not in APART and len({json.dumps(each.get(name)) for each in settings}) > 1
    ]


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
