"""The overlap tables of ``docs/analysis.md``: ``python -m benchmarks.overlap [--render]``.

Computes what ``maskgae analyze overlap`` does on the citation graphs, over twenty masks (three on
PubMed), keeps it in ``results/overlap.json`` and fills in the page from there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.speed import RESULTS, ROOT
from maskgae.datasets.registry import load_dataset
from maskgae.lab.analysis.comparison import (
    PAPER_MASK,
    nearest_path_rows,
    overlap_document,
    overlap_row,
    overlap_rows,
)
from maskgae.lab.tables.blocks import fill_file, markdown_table

PAGE, RESULT = ROOT / "docs" / "analysis.md", RESULTS / "overlap.json"
HOPS = (2, 3)

#: Dataset -> masks of each kind.
MASKS = {"Cora": 20, "CiteSeer": 20, "PubMed": 3}

#: The ratio of this package's recommended strict masks.
OURS = replace(PAPER_MASK, p=0.3, kind="edge", semantics="strict")

Document = dict[str, Any]
Row = dict[str, Any]


def measure(name: str, masks: int) -> Document:
    """All rows of one dataset."""
    graph, seeds = load_dataset(name), range(masks)
    rows = overlap_rows(graph, hops=HOPS, seeds=seeds)
    rows += [overlap_row(graph, OURS, k, seeds) for k in HOPS]
    near = nearest_path_rows(graph, name, HOPS, seeds)
    return overlap_document(name, rows, near, PAPER_MASK, seeds)


def blocks(report: dict[str, Document]) -> dict[str, str]:
    """The tables of the page by name."""
    return {
        "overlap": _overlaps(report),
        "overlap errors": _errors(report),
        "bound": _bounds(report),
    }


def _overlaps(report: dict[str, Document]) -> str:
    kinds = _kinds(next(iter(report.values()))["rows"])
    header = ["O_node / O_edge, %", "hidden"]
    header += [f"{name}, k = {k}" for name in report for k in HOPS]
    lines = []
    for kind in kinds:
        cells = [_found(document["rows"], kind, k) for document in report.values() for k in HOPS]
        lines.append([f"**{_label(kind)}**", _hidden(cells), *map(_two, cells)])
        published = [
            next(
                (row for row in document["paper"] if (row["mask"], row["hops"]) == (kind[0], k)),
                None,
            )
            for document in report.values()
            for k in HOPS
        ]
        # The paper's edge column is the published code's mask, its path column nobody's.
        last = {"edge": "reference", "path": "strict"}.get(kind[0])
        if any(published) and kind[1] == last:
            lines.append([f"paper, {kind[0]}" if last else "paper", "", *map(_two, published)])
    nearest = [
        next(
            (row for row in (document["nearest_path"] or {}).get("rows", ()) if row["hops"] == k),
            None,
        )
        for document in report.values()
        for k in HOPS
    ]
    lines.append(["path, nearest reading", _hidden(nearest), *map(_two, nearest)])
    return markdown_table(header, lines)


def _errors(report: dict[str, Document]) -> str:
    parts = []
    for name, document in report.items():
        errors = [
            100 * row["se"] for row in document["rows"] if row["se"] and row["mask"] != "none"
        ]
        masks = len(document["seeds"])
        parts.append(f"{name} {masks} masks, {min(errors):.2f} to {max(errors):.2f}")
    distances = [
        f"{100 * document['nearest_path']['distance']:.1f} points on {name}"
        for name, document in report.items()
        if document["nearest_path"]
    ]
    return (
        f"Masks and standard errors of a mean, in points: {'; '.join(parts)}. The nearest reading "
        f"of the paper's path column is off by {' and '.join(distances)} on average."
    )


def _bounds(report: dict[str, Document]) -> str:
    header = ["in γ²", *(f"{name}, k = {k}" for name in report for k in HOPS)]
    lines = []
    for kind in _kinds(next(iter(report.values()))["rows"]):
        cells = [_found(document["rows"], kind, k) for document in report.values() for k in HOPS]
        lines.append([_label(kind), *(f"{cell['bound']:.3g}" if cell else "" for cell in cells)])
    return markdown_table(header, lines)


def _kinds(rows: Sequence[Row]) -> list[tuple[str, str | None, float | None]]:
    return list(dict.fromkeys((row["mask"], row["semantics"], row["ratio"]) for row in rows))


def _found(rows: Sequence[Row], kind: tuple[Any, ...], hops: int) -> Row | None:
    wanted = (*kind, hops)
    same = (r for r in rows if (r["mask"], r["semantics"], r["ratio"], r["hops"]) == wanted)
    return next(same, None)


def _label(kind: tuple[str, str | None, float | None]) -> str:
    mask, semantics, ratio = kind
    return (
        "no mask"
        if ratio is None
        else f"{mask}, {'q' if mask == 'path' else 'p'} = {ratio}, {semantics}"
    )


def _hidden(rows: Sequence[Row | None]) -> str:
    shares = [round(100 * row["hidden_share"]) for row in rows if row]
    low, high = min(shares), max(shares)
    return f"{low} %" if high - low <= 1 else f"{low} to {high} %"


def _two(row: Row | None) -> str:
    return "" if row is None else f"{100 * row['o_node']:.2f} / {100 * row['o_edge']:.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--render", action="store_true", help="only fill in the page")
    options = parser.parse_args(arguments)
    if not options.render:
        report = {name: measure(name, masks) for name, masks in MASKS.items()}
        RESULT.write_text(json.dumps(report, indent=1) + "\n")
    fill_file(PAGE, blocks(json.loads(RESULT.read_text())))


if __name__ == "__main__":
    main()
