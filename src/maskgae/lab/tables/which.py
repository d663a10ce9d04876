"""Who is first on each graph of the contest, and at what cost: links and vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import fmean, median

from maskgae.lab.contest.contestants import CONTESTANTS
from maskgae.lab.contest.entry import TASK
from maskgae.lab.records import Records
from maskgae.lab.row import UNSEEN
from maskgae.lab.tables.blocks import markdown_table
from maskgae.lab.tables.choices import JUDGED
from maskgae.lab.tables.contest import OURS, Standing, standing

#: Links by the share of held-out edges among the first ten, vectors by the label probe.
QUESTIONS = {"links": JUDGED[0], "vectors": "accuracy"}
#: Who is within so much of the first, as a fraction, is named beside it.
CLOSE = 0.01


def which_blocks(records: Records, first: int = UNSEEN) -> dict[str, str]:
    """The tables of docs/which-method.md by their names.

    Args:
        records: where the runs are kept.
        first: the first seed that counts.
    """
    graphs = {name: standing(records, TASK, name, first) for name in records.datasets(TASK)}
    return {f"which {question}": _table(graphs, metric) for question, metric in QUESTIONS.items()}


def _table(graphs: Mapping[str, Standing], metric: str) -> str:
    """A row for each graph that somebody was judged on, and who was the first how often."""
    wins: Counter[str] = Counter()
    rows = []
    for graph, found in graphs.items():
        ranked = _ranked(found, metric)
        if not ranked:
            continue
        best = ranked[0][1]
        wins[ranked[0][0]] += 1
        near = [_shown(found, *each) for each in ranked if each[1] >= best - CLOSE]
        ours = dict(ranked).get(OURS)
        own = "not run yet" if ours is None else f"{100 * ours:.1f}"
        rows.append([graph, "; ".join(near), own])
    if not rows:
        return "Nothing was run yet."
    first = ", ".join(f"{CONTESTANTS[name].title} {count}" for name, count in wins.most_common())
    table = markdown_table(["graph", "first, and within a point of it", "`fit`"], rows, texts=2)
    return f"{table}\n\nFirst on so many of {len(rows)} graphs: {first}."


def _ranked(found: Standing, metric: str) -> list[tuple[str, float]]:
    """Contestants with their mean, the best first."""
    values = {
        name: [run["metrics"][metric] for run in runs.values() if metric in run["metrics"]]
        for name, runs in found.items()
    }
    means = {name: fmean(each) for name, each in values.items() if each}
    return sorted(means.items(), key=lambda item: -item[1])


def _shown(found: Standing, name: str, mean: float) -> str:
    seconds = median(run["time_s"]["train"] for run in found[name].values())
    return f"{CONTESTANTS[name].title} {100 * mean:.1f} ({seconds:,.0f} s)"
