"""Ablations from kept records: a table, what it says, and a chart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskgae.base.display import METRIC_NAMES, percent
from maskgae.lab.records import Records
from maskgae.lab.sweeps import Ablation
from maskgae.lab.tables.blocks import markdown_table
from maskgae.lab.tables.charts import curve_of, draw_curves

NOT_RUN = "Not run yet."


@dataclass(frozen=True)
class Point:
    """What one value of the setting gave: the summary of its runs and the share it really hid."""

    value: Any
    summary: Mapping[str, Any]
    hidden: float | None


def points(ablation: Ablation, records: Records) -> dict[str, list[Point]]:
    """The points of each curve that have been run, by semantics."""
    found: dict[str, list[Point]] = {}
    for kind, cells in ablation.curves().items():
        for value, cell in zip(ablation.values, cells, strict=True):
            record = records.record(cell, range(ablation.seeds))
            if record is not None:
                summary = record["metrics"][ablation.metric]
                point = Point(value, summary, record["audit"].get("hidden_share"))
                found.setdefault(kind, []).append(point)
    return found


def complete(ablation: Ablation, found: Mapping[str, list[Point]]) -> bool:
    """Whether every value has been run under all semantics, once at least."""
    return all(len(found.get(kind, ())) == len(ablation.values) for kind in ablation.curves())


def ablation_blocks(ablations: Sequence[Ablation], records: Records) -> dict[str, str]:
    """The chart, the table and the finding of each, by the name of its block."""
    return {f"ablation {each.name}": _block(each, points(each, records)) for each in ablations}


def _block(ablation: Ablation, found: Mapping[str, list[Point]]) -> str:
    if not complete(ablation, found):
        return f"{NOT_RUN} `{ablation.command}`"
    parts = [
        f"![{title(ablation)}](charts/{ablation.name}.svg)",
        table(ablation, found),
        f"The paper: {ablation.sweep.claim}. {finding(ablation, found)}",
        f"`{ablation.command}`",
    ]
    return "\n\n".join(parts)


def table(ablation: Ablation, found: Mapping[str, list[Point]]) -> str:
    """One line per value; for each semantics the share that was hidden and what was reached."""
    header = [f"`{ablation.sweep.key}`"]
    for kind in found:
        header += ["hidden", kind or METRIC_NAMES[ablation.metric]]
    lines = []
    for value in ablation.values:
        line = [str(value)]
        for curve in found.values():
            point = next((each for each in curve if each.value == value), None)
            line += ["", ""] if point is None else [_share(point), percent(point.summary)]
        lines.append(line)
    return markdown_table(header, lines)


def finding(ablation: Ablation, found: Mapping[str, list[Point]]) -> str:
    """Which value is best and which are as good, in a sentence for each semantics."""
    sentences = []
    for kind, curve in found.items():
        best = max(curve, key=lambda point: float(point.summary["mean"]))
        equal = [str(each.value) for each in curve if each is not best and not worse(each, best)]
        hides = f", which hides {_share(best)}" if ablation.what in ("p", "q") else ""
        as_good = f"; within noise of it: {', '.join(equal)}" if equal else "; all others are worse"
        if len(best.summary["values"]) < 2:
            as_good = "; one run per value cannot tell it from noise"
        here = f"under `{kind}` semantics" if kind else "here"
        sentences.append(f"Ours, {here}: best at {best.value}{hides}{as_good}.")
    return " ".join(sentences)


def worse(point: Point, best: Point) -> bool:
    """Whether a point lies below another by more than twice the error of their difference.

    Runs of the same seed share their split, so differences are taken seed by seed.
    """
    pairs = zip(best.summary["values"], point.summary["values"], strict=False)
    differences = [high - low for high, low in pairs]
    if len(differences) < 2:
        return False
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    return statistics.fmean(differences) > 2 * error


def draw_ablation(ablation: Ablation, found: Mapping[str, list[Point]], folder: Path) -> list[Path]:
    """The chart; mask ratios are drawn against the share that was really hidden."""
    by_share = ablation.what in ("p", "q")
    curves = []
    for kind, curve in found.items():
        if by_share:
            x: list[Any] = [100 * (point.hidden or 0.0) for point in curve]
        else:  # names and powers of two stand at equal distances
            x = [str(point.value) for point in curve]
        curves.append(curve_of(kind or "all", x, [point.summary for point in curve]))
    x_label = "share of pairs hidden, %" if by_share else ablation.sweep.key
    y_label = f"{METRIC_NAMES[ablation.metric]}, %"
    return draw_curves(folder / ablation.name, curves, title(ablation), x_label, y_label)


def title(ablation: Ablation) -> str:
    task = {"node": "node classification", "link": "link prediction"}[ablation.task]
    return f"{ablation.dataset}, {task}: {ablation.sweep.key}"


def _share(point: Point) -> str:
    return "" if point.hidden is None else f"{100 * point.hidden:.0f} %"
