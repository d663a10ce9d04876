"""What was chosen on validation edges: pairs of ways, split by split."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from maskgae.base.display import METRIC_NAMES
from maskgae.lab.contest.entry import VALIDATION
from maskgae.lab.records import Records, Run
from maskgae.lab.tables.blocks import markdown_table

#: What ``fit`` is judged by, and what a choice is shown by.
JUDGED = ("rank_hits@10", "rank_mrr")
SHOWN = (*JUDGED, "auc")
#: A difference below so many standard errors, or below this, is marked.
ERRORS, POINTS = 1.0, 0.01

Seeds = Mapping[int, Run]
#: Metrics by seed.
Values = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True)
class Difference:
    """``fit`` less another on the splits they share, as fractions; no error from one split."""

    other: str
    ours: float
    theirs: float
    mean: float
    error: float | None

    @property
    def below(self) -> bool:
        """Whether it is lower than chance explains, or lower than a point."""
        return self.mean < -ERRORS * (self.error or 0.0) or self.mean < -POINTS

    def __str__(self) -> str:
        error = "" if self.error is None else f" ± {100 * self.error:.1f}"
        text = f"{100 * self.mean:+.1f}{error}"
        return f"**{text}, below**" if self.below else text


def paired(ours: Values, theirs: Values, metric: str, other: str = "") -> Difference | None:
    """The paired difference of a metric, or ``None`` where no split is shared."""
    seeds = [
        seed
        for seed in sorted(ours.keys() & theirs.keys())
        if metric in ours[seed] and metric in theirs[seed]
    ]
    if not seeds:
        return None
    both = [[each[seed][metric] for seed in seeds] for each in (ours, theirs)]
    gains = [one - two for one, two in zip(*both, strict=True)]
    error = stdev(gains) / math.sqrt(len(gains)) if len(gains) > 1 else None
    return Difference(other, fmean(both[0]), fmean(both[1]), fmean(gains), error)


def choice_blocks(chosen: Mapping[str, Mapping[str, Seeds]], records: Records) -> dict[str, str]:
    """The tables of choices by name, from the runs of each graph's contestants."""
    network, rules, refit = [], [], []
    for name, found in chosen.items():
        runs = {method: _metrics(found.get(method, {})) for method in found}
        network += _line([name], runs.get("maskgae", {}), runs.get("maskgae-network", {}))
        rules += _line([name], runs.get("rules", {}), runs.get("rules-few", {}))
        again = found.get("maskgae-refit", {})
        selected = {seed: run["sanity"]["selected"] for seed, run in again.items()}
        refit += _line([name], _metrics(again), selected)
    return {
        "contest choices": _table(["graph"], ("network", "combined"), network),
        "contest rules": _table(["graph"], ("few", "all"), rules),
        "contest refit": _table(["graph"], ("selected", "refitted"), refit),
        "contest settings": _settings(chosen, records),
    }


def _settings(chosen: Mapping[str, Mapping[str, Seeds]], records: Records) -> str:
    """Settings that were tried, beside what suits the graph."""
    lines = []
    for name, found in chosen.items():
        tried: dict[str, dict[int, Run]] = {}
        for (_, seed), run in records.runs(VALIDATION, name).items():
            given = run["cell"].get("given")
            if given and run["cell"]["method"] == "maskgae":
                tried.setdefault(_text(given), {})[seed] = run
        plain = _metrics(found.get("maskgae", {}))
        for text, runs in tried.items():
            lines += _line([name, text], _metrics(runs), plain)
    return _table(["graph", "settings"], ("as it is", "with them"), lines)


def _text(given: Mapping[str, Any]) -> str:
    return ", ".join(f"`{key}={value}`" for key, value in given.items())


def _metrics(runs: Seeds) -> dict[int, Mapping[str, float]]:
    return {seed: run["metrics"] for seed, run in runs.items()}


def _line(labels: Sequence[str], ours: Values, theirs: Values) -> list[list[str]]:
    """The line of a comparison, or none where there is nothing to compare."""
    gains = [paired(ours, theirs, metric) for metric in SHOWN]
    if any(gain is None for gain in gains):
        return []
    cells = [*labels, str(len(ours.keys() & theirs.keys()))]
    for gain in gains:
        assert gain is not None
        cells += [f"{100 * gain.theirs:.1f}", f"{100 * gain.ours:.1f}", str(gain)]
    return [cells]


def _table(labels: Sequence[str], ways: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    if not lines:
        return "Nothing was run yet."
    heads = [f"{METRIC_NAMES[metric]}: {way}" for metric in SHOWN for way in (*ways, "gain")]
    return markdown_table([*labels, "n", *heads], lines)
