"""Figures of the harnesses, kept as JSON for ``docs/reliability.md``.

python -m tests.harness.figures          fill the page from results/reliability/*.json
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from maskgae.base.files import write_json
from maskgae.lab.tables.blocks import fill_file, markdown_table

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = ROOT / "results" / "reliability", ROOT / "docs" / "reliability.md"

Figures = dict[str, Any]

MISSING = "Not measured yet."


def keep(path: Path | None, figures: Figures) -> None:
    """Writes what a harness has counted, where that was asked for."""
    if path is not None:
        write_json(path, figures)


def kept(name: str, results: Path = RESULTS) -> Figures | None:
    path = results / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def blocks(results: Path = RESULTS) -> dict[str, str]:
    """The blocks of the page, by name."""
    found = {name: kept(name, results) for name in ROWS}
    rows = [ROWS[name](figures) for name, figures in found.items() if figures is not None]
    head = ["harness", "command", "what was done", "found"]
    texts = {"reliability": _table(head, rows)}
    for name, make in TABLES.items():
        figures = found[name]
        texts[f"reliability-{name}"] = MISSING if figures is None else make(figures)
    return texts


def _table(head: list[str], rows: list[list[str]]) -> str:
    return markdown_table(head, rows).replace("---:", "---") if rows else MISSING


def _crash(figures: Figures) -> list[str]:
    total = figures["total"]
    done = f"{total['kills']:,} kills, {total['cut writes']:,} cut writes, "
    done += f"{total['signals']:,} other signals, {total['pauses']:,} pauses, "
    done += f"{total['runs']:,} runs compared"
    found = f"{total['differences']} files differ, {total['unreadable']} unreadable, "
    return ["kills", "`make crash-test`", done, f"{found}{figures['problems']} problems"]


def _faults(figures: Figures) -> list[str]:
    done = f"{figures['faults']:,} faults injected"
    found = f"{figures['findings']} half-written files or unclear errors"
    return ["faults on writes", "`make faults`", done, found]


def _fuzz(figures: Figures) -> list[str]:
    done = f"{figures['files']:,} files, {figures['readings']:,} readings"
    done += f" in {figures['seconds'] / 60:.0f} minutes"
    return ["broken files", "`make fuzz`", done, f"{figures['findings']} findings"]


def _folders(figures: Figures) -> list[str]:
    done = f"{figures['folders']:,} hostile run folders and stores, {figures['calls']:,} commands "
    done += f"in {figures['seconds'] / 60:.0f} minutes"
    return ["broken folders", "`make fuzz`", done, _outcome(figures)]


def _commands(figures: Figures) -> list[str]:
    done = f"{figures['calls']:,} command lines and environments"
    return ["odd commands", "`make fuzz`", done, _outcome(figures)]


def _outcome(figures: Figures) -> str:
    names = {"tracebacks": "tracebacks", "hangs": "hangs", "lost": "bystanders touched"}
    names |= {"findings": "findings in all"}
    return ", ".join(f"{figures[key]} {name}" for key, name in names.items())


def _extremes(figures: Figures) -> list[str]:
    calls = sum(counts["commands"] for counts in figures["graphs"].values())
    done = f"{len(figures['graphs'])} graphs, {calls:,} commands"
    return ["extreme graphs", "`make fuzz`", done, _outcome(figures)]


def _soak(figures: Figures) -> list[str]:
    done = f"{figures['rounds']:,} rounds in {figures['seconds'] / 60:.0f} minutes"
    found = f"memory {100 * figures['growth']:+.1f} %, {figures['left_open']} files left open"
    return ["soak", "`make soak`", done, found]


#: A line of the first table for each harness that has left its figures.
ROWS: dict[str, Callable[[Figures], list[str]]] = {
    "crash": _crash,
    "faults": _faults,
    "fuzz": _fuzz,
    "folders": _folders,
    "commands": _commands,
    "extremes": _extremes,
    "soak": _soak,
}


def _scenes(figures: Figures) -> str:
    columns = (
        "kills",
        "amid a write",
        "with checkpoints",
        "cut writes",
        "signals",
        "pauses",
        "runs",
    )
    parts = {**figures["scenes"], "all": figures["total"]}
    rows = [[name, *(f"{counts[c]:,}" for c in columns)] for name, counts in parts.items()]
    return markdown_table(["scene", *columns], rows)


def _by_verb(figures: Figures) -> str:
    rows = [[verb, *map(str, counts)] for verb, counts in sorted(figures["verbs"].items())]
    return markdown_table(["command", "calls", "done", "refused"], rows)


def _by_graph(figures: Figures) -> str:
    columns = {"commands": "commands", "done": "done", "refused": "refused"}
    columns |= {"seconds": "processor time, s", "megabytes": "highest memory, MiB"}
    graphs = figures["graphs"].items()
    rows = [[name, *(f"{counts[key]:,}" for key in columns)] for name, counts in graphs]
    return markdown_table(["graph", *columns.values()], rows)


def _memory(figures: Figures) -> str:
    tenths = figures["tenths"]
    head = ["minutes", *(f"{tenth['minutes']:.0f}" for tenth in tenths)]
    return markdown_table(head, [["MiB", *(f"{tenth['megabytes']:.0f}" for tenth in tenths)]])


#: Tables of their own.
TABLES: dict[str, Callable[[Figures], str]] = {
    "crash": _scenes,
    "folders": _by_verb,
    "commands": _by_verb,
    "extremes": _by_graph,
    "soak": _memory,
}


if __name__ == "__main__":
    fill_file(PAGE, blocks())
