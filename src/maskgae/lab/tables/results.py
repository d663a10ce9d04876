"""The paper's tables from kept records: ours beside the published numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from maskgae.base.display import METRIC_NAMES, ROW_NAMES, percent
from maskgae.evaluation.metrics import summary
from maskgae.lab.records import Records
from maskgae.lab.row import Row
from maskgae.lab.tables.blocks import markdown_table
from maskgae.lab.tables.compare import compared, figure, gain
from maskgae.lab.tables.link_parts import heart_table, parts_findings, parts_table

#: Where seeds begin that played no part in any choice.
FRESH_SEED = 100

#: The highest numbers published for this family of methods, which the presets are to reach.
GOALS = {
    ("link", "Cora"): (0.965, 0.960),
    ("link", "CiteSeer"): (0.980, 0.982),
    ("link", "PubMed"): (0.989, 0.988),
    ("node", "Cora"): (0.843,),
    ("node", "CiteSeer"): (0.738,),
    ("node", "PubMed"): (0.836,),
    ("node", "Photo"): (0.934,),
    ("node", "Computers"): (0.903,),
}

METRICS = {"link": ("auc", "ap"), "node": ("accuracy",)}

Record = Mapping[str, Any]


def result_blocks(rows: Sequence[Row], records: Records, first_seed: int = 0) -> dict[str, str]:
    """A Markdown table for each table of the suite, by its name."""
    found = [(row, records.record(row.cell, row.numbers(first_seed))) for row in rows]
    blocks = {}
    for table in dict.fromkeys(row.table for row in rows):
        here = [(row, record) for row, record in found if row.table == table]
        blocks[table] = MAKERS.get(table, _table)(here)
        blocks[f"{table} cost"] = _costs(here)
    blocks["parts findings"] = parts_findings([r for r in found if r[0].table == "parts"])
    blocks["readme"] = _readme(found)
    blocks["goals"] = _goals(found)
    blocks["same seeds"] = _same_seeds(found)
    blocks["fresh seeds"] = _fresh(rows, records)
    blocks["link hard"] = _hard([r for r in found if r[0].table in ("link", "link baselines")])
    return blocks


def _ranking(rows: Sequence[tuple[Row, Record | None]]) -> str:
    """What a list of missing links is worth, beside its parts and the best single rule."""
    header = ["dataset", "n", "rank Hits@10", "rank MRR", "AUC", "network alone: Hits@10"]
    header += ["rules alone, combined: Hits@10", "best single rule: Hits@10"]
    lines = []
    for row, record in rows:
        if record is None:
            continue
        own, parts, hits = record["metrics"], dict(record["sanity"]), "rank_hits@10"
        network, rules = (parts.pop(name)[hits] for name in ("network", "rules"))
        best = max(parts, key=lambda name: parts[name][hits]["mean"])
        cells = [row.cell.dataset, str(len(record["seeds"]))]
        cells += [figure(own[name]) for name in (hits, "rank_mrr", "auc")]
        cells += [figure(network), figure(rules)]
        lines.append([*cells, f"{figure(parts[best][hits])} ({ROW_NAMES.get(best, best)})"])
    return markdown_table(header, lines)


def _vectors(rows: Sequence[tuple[Row, Record | None]]) -> str:
    """What a probe reads off the vectors, beside the same probe on what went into them."""
    names = ("propagated_features", "joined_inputs")
    header = ["dataset", "n", "accuracy", *(ROW_NAMES[name] for name in names)]
    header += ["random splits", *(f"more than {ROW_NAMES[name]}" for name in names)]
    lines = []
    for row, record in rows:
        if record is None:
            continue
        own, parts = record["metrics"], [record["sanity"][name] for name in names]
        cells = [row.cell.dataset, str(len(record["seeds"])), figure(own["accuracy"])]
        cells += [figure(part["accuracy"]) for part in parts]
        cells.append(figure(own.get("accuracy_random_splits")))
        cells += [_ahead(own, part) for part in parts]
        lines.append(cells)
    return markdown_table(header, lines)


def _ahead(own: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Points of accuracy ahead, on the random splits where there are any, seed by seed."""
    name = "accuracy_random_splits" if "accuracy_random_splits" in own else "accuracy"
    pairs = zip(own[name]["values"], other[name]["values"], strict=True)
    return gain(summary(one - two for one, two in pairs))


def _table(rows: Sequence[tuple[Row, Record | None]]) -> str:
    task = rows[0][0].cell.task
    metrics = METRICS[task]
    header = ["", "n"]
    for metric in metrics:
        header += [METRIC_NAMES[metric], "published", "difference"]
    header += ["random splits"] if task == "node" else []
    header.append("best heuristic baseline")
    lines = []
    for row, record in rows:
        if record is None:
            lines.append(
                [_label(row), "0", *["not run: no data here or not yet"] + [""] * (len(header) - 3)]
            )
            continue
        cells = [_label(row), str(len(record["seeds"]))]
        for metric in metrics:
            cells += compared(record["metrics"].get(metric), row.published.get(metric))
        if task == "node":
            cells.append(figure(record["metrics"].get("accuracy_random_splits")))
        cells.append(_best_baseline(record, metrics[0]))
        lines.append(cells)
    return markdown_table(header, lines)


def _label(row: Row) -> str:
    cell = row.cell
    if cell.method != "maskgae":
        return f"{cell.dataset}, {cell.method}"
    kind = f", {cell.settings.encoder.kind}" if row.table == "encoders" else ""
    mask = cell.settings.mask.kind
    return f"{cell.dataset}, {'no mask' if mask == 'none' else mask}{kind}"


def _best_baseline(record: Record, metric: str) -> str:
    rows = {name: values[metric] for name, values in record["sanity"].items() if metric in values}
    if not rows:
        return ""
    best = max(rows, key=lambda name: rows[name]["mean"])
    return f"{100 * rows[best]['mean']:.2f} ({best.replace('_', ' ')})"


def _readme(rows: Iterable[tuple[Row, Record | None]]) -> str:
    """One line per dataset and mask: link AUC and AP, node accuracy."""
    shown: dict[str, dict[str, Record]] = {}
    for row, record in rows:
        if row.table in ("link", "node") and record is not None:
            shown.setdefault(_label(row), {})[row.table] = record
    lines = []
    for label, tasks in shown.items():
        link = tasks.get("link", {}).get("metrics", {})
        node = tasks.get("node", {}).get("metrics", {})
        counts = [str(len(tasks[task]["seeds"])) for task in ("link", "node") if task in tasks]
        seeds = ", ".join(dict.fromkeys(counts))
        cells = (
            figure(link.get("auc")),
            figure(link.get("ap")),
            figure(node.get("accuracy")),
        )
        lines.append([label, *cells, seeds])
    header = ["dataset, mask", "link AUC %", "link AP %", "node accuracy %", "seeds of each"]
    return markdown_table(header, lines)


def _goals(rows: Sequence[tuple[Row, Record | None]]) -> str:
    """How far the better mask of each cell is from its goal."""
    lines = []
    for (task, dataset), goals in GOALS.items():
        here = [
            (row, record)
            for row, record in rows
            if (row.table, row.cell.dataset) == (task, dataset) and record is not None
        ]
        for metric, goal in zip(METRICS[task], goals, strict=True):
            cells = [f"{task}: {dataset}, {METRIC_NAMES[metric]}", f"{100 * goal:.1f}"]
            if not here:
                lines.append([*cells, "not run", "", ""])
                continue
            row, record = max(here, key=lambda each: float(each[1]["metrics"][metric]["mean"]))
            ours = record["metrics"][metric]
            cells += [figure(ours), row.cell.settings.mask.kind]
            lines.append([*cells, f"{100 * (ours['mean'] - goal):+.2f}"])
    return markdown_table(["", "goal", "reached", "by masks of", "difference"], lines)


def _same_seeds(rows: Sequence[tuple[Row, Record | None]]) -> str:
    """The presets against the published settings, seed by seed, on the splits they share."""
    found = {
        (row.table, row.cell.dataset, row.cell.settings.mask.kind): (row, record)
        for row, record in rows
        if record is not None
    }
    lines = []
    for (table, dataset, mask), (row, ours) in found.items():
        theirs = found.get((f"{table} as published", dataset, mask))
        if table not in METRICS or theirs is None:
            continue
        metric = METRICS[table][0]
        values = [
            dict(zip(record["seeds"], record["metrics"][metric]["values"], strict=True))
            for record in (ours, theirs[1])
        ]
        seeds = sorted(values[0].keys() & values[1].keys())
        gains = [values[0][seed] - values[1][seed] for seed in seeds]
        means = [percent(summary([each[seed] for seed in seeds])) for each in values]
        label = f"{table}: {_label(row)}, {METRIC_NAMES[metric]}"
        lines.append([label, str(len(seeds)), *means, gain(summary(gains))])
    header = ["", "n", "our preset", "published settings", "difference, seed by seed"]
    return markdown_table(header, lines)


def _fresh(rows: Sequence[Row], records: Records) -> str:
    """Means of the usual seeds beside those of seeds that nobody looked at before."""
    lines = []
    for row in (row for row in rows if row.table in ("link", "node")):
        usual, fresh = (records.record(row.cell, row.numbers(first)) for first in (0, FRESH_SEED))
        if usual is None or fresh is None:
            continue
        metric = METRICS[row.cell.task][0]
        ours, theirs = usual["metrics"][metric], fresh["metrics"][metric]
        counts = [len(record["seeds"]) for record in (usual, fresh)]
        cells = [f"{row.table}: {_label(row)}, {METRIC_NAMES[metric]}", *map(str, counts)]
        errors = _errors_apart(ours, theirs)
        lines.append([*cells, figure(ours), figure(theirs), f"{errors:.1f}"])
    header = ["", "n", "n fresh", "seeds 0, 1, ...", f"seeds {FRESH_SEED}, {FRESH_SEED + 1}, ..."]
    return markdown_table([*header, "standard errors apart"], lines)


def _errors_apart(first: Mapping[str, Any], second: Mapping[str, Any]) -> float:
    """The difference of two means in standard errors of it."""
    parts = [(s["std"] or 0.0) / math.sqrt(len(s["values"])) for s in (first, second)]
    return abs(float(first["mean"]) - float(second["mean"])) / max(math.hypot(*parts), 1e-12)


def _costs(rows: Iterable[tuple[Row, Record | None]]) -> str:
    lines = []
    for row, record in rows:
        if record is None:
            continue
        train = record["time_s"]["train"] / len(record["seeds"])
        hidden = record["audit"].get("hidden_share")
        share = "" if hidden is None else f"{100 * hidden:.0f} %"
        memory = f"{record['peak_rss_mb']:.0f} MB"
        lines.append([_label(row), f"{train:.0f} s", memory, share, f"`{row.command}`"])
    header = ["", "training a seed", "peak memory", "pairs hidden", "command"]
    return markdown_table(header, lines)


def _hard(rows: Iterable[tuple[Row, Record | None]]) -> str:
    """AUC on random negatives beside ranks on hard ones."""
    metrics = ("auc", "mrr", "hard_mrr", "hard_hits@10")
    lines = []
    for row, record in rows:
        if record is not None and "hard_mrr" in record["metrics"]:
            lines.append([_label(row), *(figure(record["metrics"].get(m)) for m in metrics)])
            if row.cell.settings.mask.kind == "edge" and row.cell.method == "maskgae":
                lines += _hard_baselines(row, record, metrics)
    return markdown_table(["", "AUC", "MRR", "hard MRR", "hard Hits@10"], lines)


def _hard_baselines(row: Row, record: Record, metrics: Sequence[str]) -> list[list[str]]:
    return [
        [
            f"{row.cell.dataset}, {name.replace('_', ' ')}",
            *(figure(v.get(m)) for m in metrics),
        ]
        for name, v in record["sanity"].items()
    ]


#: Tables that are not like the paper's.
MAKERS = {"ranking": _ranking, "parts": parts_table, "heart": heart_table, "vectors": _vectors}
