"""All methods from kept records: a table for each task, and what they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from maskgae.base.display import ROW_NAMES, percent
from maskgae.datasets.registry import DATASETS
from maskgae.evaluation.metrics import summary
from maskgae.lab.all_methods import cut
from maskgae.lab.published import expected
from maskgae.lab.records import Records
from maskgae.lab.row import Row
from maskgae.lab.tables.blocks import markdown_table
from maskgae.lab.tables.compare import compared, figure, gain
from maskgae.lab.tables.method_findings import (
    ORDERED,
    best_rule,
    found_of,
    has_own_start,
    method_findings,
    metric_of,
    name_of,
)

Record = Mapping[str, Any]
Found = Sequence[tuple[Row, Record]]


def method_blocks(rows: Sequence[Row], records: Records, first_seed: int = 0) -> dict[str, str]:
    """The blocks of the page about all methods, by name."""
    found = found_of(rows, records, first_seed)
    node, link, checks = (
        _by_dataset(found, f"methods {table}") for table in ("node", "link", "checks")
    )
    return {
        "methods findings": method_findings(rows, found),
        "methods node": _node_table(node),
        "methods link": _link_tables(link),
        "methods ranges": _ranges(found),
        "methods checks": _checks(found),
        "methods cost": _costs([*node, *link, *checks]),
    }


def _by_dataset(found: Found, table: str) -> Found:
    """The rows of a table in the order of datasets, the best first in each."""
    here = [each for each in found if each[0].table == table]
    order = [name for name in DATASETS if any(row.cell.dataset == name for row, _ in here)]
    return sorted(
        here,
        key=lambda each: (
            order.index(each[0].cell.dataset),
            -float(each[1]["metrics"][metric_of(ORDERED, each[0])]["mean"]),
        ),
    )


def _node_table(found: Found) -> str:
    header = ["", "n", "accuracy", "published", "difference", "random splits", "untrained", "cut"]
    lines, dataset = [], ""
    for row, record in found:
        if row.cell.dataset != dataset:
            dataset = row.cell.dataset
            lines += _rule_lines(dataset, record, ("propagated_features", "raw_features"))
        own, before = record["metrics"], record["sanity"]["untrained"]
        cells = [f"{dataset}, {name_of(row)}", str(len(record["seeds"]))]
        cells += compared(own["accuracy"], row.published.get("accuracy"))
        cells += [figure(own.get("accuracy_random_splits"))]
        cells += [figure(before["accuracy"]) if has_own_start(row) else ""]
        lines.append([*cells, cut(row.cell.method, dataset)])
    return markdown_table(header, lines)


def _rule_lines(dataset: str, record: Record, names: Sequence[str]) -> list[list[str]]:
    """What features reach without a network, on the seeds of a dataset's first row."""
    return [
        [
            f"{dataset}, {ROW_NAMES[name]}",
            str(len(record["seeds"])),
            figure(record["sanity"][name]["accuracy"]),
            *("", ""),
            figure(record["sanity"][name].get("accuracy_random_splits")),
            *("", ""),
        ]
        for name in names
    ]


#: Judged by AUC beside others, and the task of a metric.
LINKS_FIRST = ("mgae", "seal")
TASK = {"accuracy": "node", "auc": "link"}

#: Metrics of links and what they are called here.
AUC_AND_AP = {"auc": "AUC", "ap": "AP"}
RANKS = {
    **{"rank_hits@10": "rank Hits@10", "rank_mrr": "rank MRR"},
    **{"hard_hits@10": "hard Hits@10", "hard_mrr": "hard MRR"},
}


def _link_tables(found: Found) -> str:
    """A table of what is ranked among all nodes and, where it was run, one of Collab."""
    ranked = [each for each in found if each[0].cell.dataset != "Collab"]
    own_split = [each for each in found if each[0].cell.dataset == "Collab"]
    tables = [_link_table(ranked, AUC_AND_AP, RANKS)]
    if own_split:
        tables.append(_link_table(own_split, {"hits@50": "Hits@50"}, AUC_AND_AP))
    return "\n\n".join(tables)


def _link_table(found: Found, quoted: Mapping[str, str], others: Mapping[str, str]) -> str:
    """Some metrics beside published numbers, then others, below the best rule of each dataset."""
    beside = [cell for name in quoted.values() for cell in (name, "published", "difference")]
    header = ["", "n", *beside, *others.values(), "cut"]
    lines, dataset = [], ""
    for row, record in found:
        of_dataset = f"{row.cell.dataset}, "
        count, what = str(len(record["seeds"])), cut(row.cell.method, row.cell.dataset)
        if row.cell.dataset != dataset:
            dataset, rule = row.cell.dataset, best_rule(row, record)
            metrics = _link_cells(record["sanity"][rule], {}, quoted, others)
            lines.append([of_dataset + ROW_NAMES[rule], count, *metrics, "a rule"])
        metrics = _link_cells(record["metrics"], row.published, quoted, others)
        lines.append([of_dataset + name_of(row), count, *metrics, what])
    return markdown_table(header, lines)


def _link_cells(
    own: Record, published: Record, quoted: Iterable[str], others: Iterable[str]
) -> list[str]:
    beside = [compared(own[metric], published.get(metric)) for metric in quoted]
    return [*(cell for cells in beside for cell in cells), *(figure(own[name]) for name in others)]


def _ranges(found: Found) -> str:
    """Each method beside what re-runs elsewhere reach; bold where it lies outside."""
    places = ("Cora", "CiteSeer")
    cells: dict[str, dict[str, list[str]]] = {}
    for row, record in found:
        method, dataset = row.cell.method, row.cell.dataset
        metric = "auc" if method in LINKS_FIRST else "accuracy"
        ends = expected(method).get(dataset)
        if ends is not None and row.table == f"methods {TASK[metric]}":
            mean = float(record["metrics"][metric]["mean"])
            text = f"{100 * mean:.1f} ({len(record['seeds'])})"
            own = text if ends[0] <= round(mean, 3) <= ends[1] else f"**{text}**"
            cells.setdefault(method, {})[dataset] = [own, f"{100 * ends[0]:g} to {100 * ends[1]:g}"]
    header = ["", *(cell for place in places for cell in (f"{place} (seeds)", "elsewhere"))]
    lines = [
        [method, *(cell for place in places for cell in cells[method].get(place, ["", ""]))]
        for method in sorted(cells)
    ]
    return markdown_table(header, lines)


def _checks(found: Found) -> str:
    """What was cut on larger graphs beside the whole, on Cora and the same seeds."""
    whole = {
        row.cell.method: record
        for row, record in found
        if row.table == "methods node" and row.cell.dataset == "Cora"
    }
    lines = []
    for row, record in found:
        other = whole.get(row.cell.method)
        if row.table == "methods checks" and other is not None:
            own, full = (_accuracies(each) for each in (record, other))
            both = [seed for seed in own if seed in full]
            setting = ", ".join(f"`{key}={row.cell.flat()[key]}`" for key in _own_changes(row))
            cells = [percent(summary([each[seed] for seed in both])) for each in (full, own)]
            gains = gain(summary([own[seed] - full[seed] for seed in both]))
            lines.append([f"{row.cell.method}, {setting}", str(len(both)), *cells, gains])
    return markdown_table(["", "n", "whole", "cut", "difference, seed by seed"], lines)


def _accuracies(record: Record) -> dict[int, float]:
    return dict(zip(record["seeds"], record["metrics"]["accuracy"]["values"], strict=True))


def _own_changes(row: Row) -> list[str]:
    return [key for key in row.cell.changed() if key.startswith(f"{row.cell.method}.")]


def _costs(found: Found) -> str:
    header = ["", "training a seed", "judging it", "peak memory", "command"]
    lines = []
    for row, record in found:
        count, times = len(record["seeds"]), record["time_s"]
        cells = [f"{row.cell.task}: {row.cell.dataset}, {name_of(row)}"]
        cells += [f"{times[part] / count:.0f} s" for part in ("train", "evaluate")]
        lines.append([*cells, f"{record['peak_rss_mb']:.0f} MB", f"`{row.command}`"])
    return f"{markdown_table(header, lines)}\n\n{_hours(found)}".strip()


def _hours(found: Found) -> str:
    """What all runs took together."""
    parts = ("train", "evaluate")
    hours = sum(record["time_s"][part] for _, record in found for part in parts) / 3600
    runs = sum(len(record["seeds"]) for _, record in found)
    return f"All {runs} runs took {hours:.1f} hours of one thread." if runs else ""
