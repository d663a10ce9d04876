"""The contest's tables from kept records: everybody on each graph, and ``fit`` beside the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

from maskgae.base.display import METRIC_NAMES
from maskgae.lab.contest.contestants import CONTESTANTS
from maskgae.lab.contest.entry import TASK, VALIDATION
from maskgae.lab.contest.graphs import CHOOSING
from maskgae.lab.records import Records, Run
from maskgae.lab.row import UNSEEN
from maskgae.lab.tables.blocks import markdown_table
from maskgae.lab.tables.charts import COLOURS, chart
from maskgae.lab.tables.choices import JUDGED, Difference, Seeds, choice_blocks, paired

#: The columns of a graph's table, where it has them.
METRICS = (
    "rank_mrr",
    "rank_hits@10",
    "rank_hits@50",
    "auc",
    "ap",
    "hard_mrr",
    "hits@20",
    "accuracy",
)
OURS, QUICK = "maskgae", "maskgae-quick"
HEADINGS = METRIC_NAMES | {"hard_mrr": "hard MRR", "accuracy": "label probe"}

Standing = Mapping[str, Seeds]


def contest_blocks(
    records: Records, names: Sequence[str] = (), first: int = UNSEEN
) -> dict[str, str]:
    """The tables of docs/contest.md by their names, for some graphs or for all.

    Args:
        records: where the runs are kept.
        names: the graphs; all where none is named.
        first: the first seed of a test that counts.
    """
    tested, chosen = (
        {
            name: standing(records, task, name, start)
            for name in records.datasets(task)
            if not names or name in names
        }
        for task, start in ((TASK, first), (VALIDATION, 0))
    )
    tables = [f"### {_heading(name)}\n\n{_table(found)}" for name, found in tested.items()]
    return {
        "contest summary": _summary(tested),
        "contest labels": _probes(tested),
        "contest graphs": "\n\n".join(tables) or "Nothing was run yet.",
        **choice_blocks(chosen, records),
    }


def standing(records: Records, task: str, dataset: str, first: int = 0) -> Standing:
    """The runs of each contestant by seed, of the settings that it was last run with."""
    found: dict[str, tuple[str, dict[int, Run]]] = {}
    for (digest, seed), run in records.runs(task, dataset).items():
        method = run["cell"]["method"]
        if seed < first or method not in CONTESTANTS or run["cell"].get("given"):
            continue
        if method not in found or found[method][0] != digest:
            found[method] = digest, {}
        found[method][1][seed] = run
    return {name: found[name][1] for name in CONTESTANTS if name in found}


def _heading(name: str) -> str:
    return f"{name} (chosen on)" if name in CHOOSING else name


def _table(found: Standing) -> str:
    rows = list(_rows(found))
    shown = [m for m in METRICS if any(m in run["metrics"] for _, runs in rows for run in runs)]
    header = ["", "n", *(HEADINGS[name] for name in shown), "seconds", "MB"]
    lines = []
    for title, runs in rows:
        done = [run for run in runs if run["metrics"]]
        figures = [_mean([r["metrics"][m] for r in done if m in r["metrics"]]) for m in shown]
        lines.append([title, str(len(done)), *figures, *_costs(runs)])
    return markdown_table(header, lines)


def _rows(found: Standing) -> Iterator[tuple[str, list[Run]]]:
    """Each contestant's runs, and those of the rows that it brings along."""
    for name, seeds in found.items():
        runs, title = list(seeds.values()), CONTESTANTS[name].title
        if CONTESTANTS[name].kind == "embedding":
            title += f" ({Counter(r['facts'].get('scorer') for r in runs).most_common(1)[0][0]})"
        yield f"**{title}**" if CONTESTANTS[name].kind == "fit" else title, runs
        beside = {row for run in runs for row in run["sanity"]} if name == OURS else ()
        for row in sorted(beside):
            yield f"its {row} alone", [_part(run, row) for run in runs if row in run["sanity"]]


def _part(run: Run, row: str) -> Run:
    return {**run, "metrics": run["sanity"][row], "time_s": {}}


def _mean(values: Sequence[float]) -> str:
    return f"{100 * fmean(values):.1f}" if values else ""


def _costs(runs: Sequence[Run]) -> list[str]:
    if any("stopped_after_s" in run["facts"] for run in runs):
        return ["over 40 minutes", ""]
    seconds = [run["time_s"]["train"] for run in runs if run["time_s"]]
    if not seconds:
        return ["", ""]
    return [f"{median(seconds):,.0f}", f"{max(run['peak_rss_mb'] for run in runs):,.0f}"]


def difference(found: Standing, other: str, metric: str, ours: str = OURS) -> Difference | None:
    """The paired difference of two contestants, or ``None`` where they share no split."""
    both = [{s: r["metrics"] for s, r in found.get(n, {}).items()} for n in (ours, other)]
    return paired(both[0], both[1], metric, other)


def to_the_best(found: Standing, metric: str) -> Difference | None:
    """``fit`` against the rule or embedding that it is the least ahead of."""
    others = [name for name in found if CONTESTANTS[name].kind in ("rule", "embedding")]
    known = [d for name in others if (d := difference(found, name, metric)) is not None]
    return min(known, key=lambda each: each.mean, default=None)


def _summary(tested: Mapping[str, Standing]) -> str:
    header = ["graph", "n"]
    for metric in JUDGED:
        header += [f"{HEADINGS[metric]}: fit", "the best alternative", "difference, split by split"]
    lines = [
        [_heading(name), str(len(found.get(OURS, {}))), *_beside_the_best(found, *JUDGED)]
        for name, found in tested.items()
    ]
    return markdown_table(header, lines)


def _beside_the_best(found: Standing, *metrics: str) -> list[str]:
    cells = []
    for metric in metrics:
        gap = to_the_best(found, metric)
        if gap is None:
            cells += ["not run yet", "", ""]
            continue
        best = f"{100 * gap.theirs:.1f} ({CONTESTANTS[gap.other].title})"
        cells += [f"{100 * gap.ours:.1f}", best, str(gap)]
    return cells


def _probes(tested: Mapping[str, Standing]) -> str:
    """The label probe of ``fit`` beside the best alternative's and that of its own inputs."""
    lines = []
    for name, found in tested.items():
        if to_the_best(found, "accuracy") is None:  # no labels, or not run yet
            continue
        cells = [_heading(name), str(len(found[OURS])), *_beside_the_best(found, "accuracy")]
        inputs = difference(found, QUICK, "accuracy")
        lines.append([*cells, "" if inputs is None else str(inputs)])
    header = ["graph", "n", "label probe: fit", "the best alternative"]
    header += ["difference, split by split", "to its joined inputs"]
    return markdown_table(header, lines) if lines else "Nothing was run yet."


def draw_contest(records: Records, path: Path) -> list[Path]:
    """A row for each graph: ``fit``, where it was run, and all the others."""
    metric = JUDGED[0]
    tested = {n: standing(records, TASK, n, UNSEEN) for n in records.datasets(TASK)}
    reached = {name: levels for name in tested if (levels := _levels(tested[name], metric))}
    names = sorted(reached, key=lambda name: max(reached[name].values()))
    kinds = (
        ("rule", 18, COLOURS[4], "rules"),
        ("embedding", 18, COLOURS[5], "embeddings"),
        (QUICK, 42, COLOURS[2], "maskgae fit --quick"),
        (OURS, 42, COLOURS[0], "maskgae fit"),
    )
    with chart(path, (6.4, 1.2 + 0.3 * len(names))) as axes:
        for kind, size, colour, label in kinds:
            points = [
                (level, height)
                for height, name in enumerate(names)
                for other, level in reached[name].items()
                if kind in (other, CONTESTANTS[other].kind)
            ]
            axes.scatter(*_columns(points), s=size, color=colour, alpha=0.8, label=label)
        axes.set_yticks(range(len(names)), names)
        axes.set_xlabel(f"{HEADINGS[metric]}, percent")
        axes.grid(axis="x", alpha=0.3)
        axes.legend(frameon=False, fontsize=9, loc="lower right")
    return [path.with_suffix(ending) for ending in (".png", ".svg")]


def _levels(found: Standing, metric: str) -> dict[str, float]:
    """Each contestant's mean in percent, of those who have one."""
    values = {
        name: [run["metrics"][metric] for run in runs.values() if metric in run["metrics"]]
        for name, runs in found.items()
    }
    return {name: 100 * fmean(each) for name, each in values.items() if each}


def _columns(points: Sequence[tuple[float, int]]) -> tuple[list[float], list[int]]:
    return [x for x, _ in points], [y for _, y in points]
