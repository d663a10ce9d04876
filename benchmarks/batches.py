"""Batches and ranks beside the whole graph: ``python -m benchmarks.batches [--only ROW ...]``.

Every row is a ``maskgae fit``, watched from outside: PubMed and Computers from CSV files, and a
generated graph of arXiv's size from a store. ``results/batches.json`` keeps what each took and
reached; two tables of ``docs/scale.md`` are filled from it (``--render`` does that alone).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.own import names, node_table, write_edges
from benchmarks.render import table
from benchmarks.scale import outcome, watched
from benchmarks.speed import RESULTS, ROOT
from maskgae.datasets.registry import load_dataset
from maskgae.lab.tables.blocks import fill_file

PAGE, RESULT = ROOT / "docs" / "scale.md", RESULTS / "batches.json"

Report = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One fit: a graph, how many pairs an update has (0: the whole graph), ranks and threads."""

    graph: str
    batch: int
    ranks: int = 1
    threads: int = 1
    updates: int = 0

    @property
    def name(self) -> str:
        shape = f"{self.ranks}x{self.threads}" + (f"-{self.updates}" if self.updates else "")
        return f"{self.graph}-{self.batch}-{shape}"

    def command(self, edges: Sequence[str], out: Path) -> list[str]:
        """The words of the fit; several ranks are torchrun's."""
        launcher = ["-m"]
        if self.ranks > 1:
            launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(self.ranks), "-m"]
        words = ["fit", *edges, "--out", str(out), "--batch-pairs", str(self.batch)]
        words += ["--threads", str(self.threads)]
        words += ["--set", f"training.max_steps={self.updates}"] if self.updates else []
        return [sys.executable, *launcher, "maskgae", *words]


#: As long as the defaults train; on the large graph, a hundred updates either way.
BATCHES = (
    Row("PubMed", 0),
    Row("PubMed", 4096),
    Row("Computers", 0),
    Row("Computers", 16384),
    Row("arXiv-size", 0, updates=100),
    Row("arXiv-size", 16384, updates=100),
)

#: The same training by one rank and by two, each with a core or both.
RANKS = (
    Row("PubMed", 4096, updates=200),
    Row("PubMed", 4096, threads=2, updates=200),
    Row("PubMed", 4096, ranks=2, updates=200),
)


def written(name: str, folder: Path) -> list[str]:
    """A named dataset as files; the words that give them to ``fit``."""
    graph = load_dataset(name)
    edges, nodes = folder / f"{name}.csv", folder / f"{name}-nodes.csv"
    if not edges.exists():
        ids = names(graph.num_nodes)
        node_table(graph, ids).to_csv(nodes, index=False)
        write_edges(edges, graph.pairs.numpy(), ids)
    return [str(edges), "--nodes", str(nodes), "--label", "label"]


def generated(name: str, folder: Path) -> list[str]:
    """The generated graph as a store."""
    store, request = folder / name, "nodes=169343,pairs=1157799,features=128"
    if not store.exists():
        ingest = ["ingest", "--generate", request, "--out", str(store)]
        watched([sys.executable, "-m", "maskgae", *ingest], folder / "log")
    return [str(store)]


SOURCES: dict[str, Callable[[str, Path], list[str]]] = {
    "PubMed": written,
    "Computers": written,
    "arXiv-size": generated,
}


def measure(row: Row, folder: Path) -> Report:
    """What a row took and reached."""
    given, run = SOURCES[row.graph](row.graph, folder), folder / row.name
    found = watched(row.command(given, run), folder / "log") | outcome(run)
    return found | {"load": os.getloadavg()[0]}


def tables(report: Report) -> dict[str, str]:
    """The two tables of the page by name."""
    return {"batches": _batches(report["rows"]), "ranks": _ranks(report["rows"])}


def _batches(found: Report) -> str:
    head = ["graph", "training", "updates", "test AUC", "training took", "held", "load"]
    rows = []
    for row in BATCHES:
        if row.name not in found:
            continue
        here = found[row.name]
        hops = ", ".join(map(str, here["fanouts"]))
        kind = (
            f"batches of {row.batch:,}, {hops} neighbours per hop" if row.batch else "whole graph"
        )
        reached = [f"{here['updates']:,}", f"{100 * here['auc']:.2f}"]
        cost = [f"{here['train_s']:.0f} s", f"{here['anonymous_mb']:,.0f} MiB", _load(here)]
        rows.append([row.graph, kind, *reached, *cost])
    return table(head, rows)


def _ranks(found: Report) -> str:
    head = ["ranks", "threads of each", "test AUC", "training took", "load"]
    rows = []
    for row in RANKS:
        if row.name in found:
            here = found[row.name]
            auc, seconds = f"{100 * here['auc']:.2f}", f"{here['train_s']:.0f} s"
            rows.append([str(row.ranks), str(row.threads), auc, seconds, _load(here)])
    return table(head, rows)


def _load(here: Report) -> str:
    """How busy the machine was, the fit included."""
    return f"{here['load']:.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    everything = {row.name: row for row in (*BATCHES, *RANKS)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=everything, default=list(everything))
    parser.add_argument("--folder", type=Path, help="where files lie while they are needed")
    parser.add_argument("--render", action="store_true", help="only write the page")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    report = json.loads(options.out.read_text()) if options.out.exists() else {"rows": {}}
    if not options.render:
        report |= {"machine": machine.describe(), "date": time.strftime("%Y-%m-%d")}
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            for name in options.only:
                report["rows"][name] = measure(everything[name], Path(folder))
                options.out.write_text(json.dumps(report, indent=1) + "\n")
    if options.out == RESULT:
        fill_file(PAGE, tables(report))


if __name__ == "__main__":
    main()
