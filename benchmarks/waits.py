"""How long people wait: ``python -m benchmarks.waits [--graphs FOLDER] [--only GRAPH ...]``.

``fit`` and ``fit --quick`` from the start of the process to the page in the run folder, by part,
beside what people would use instead: an SVD of the adjacency, node2vec and a graph autoencoder of
PyG's modules. Each runs in a process of its own with the same threads, learns from the same split
and is asked the same: AUC, and the rank of the test's partners among all nodes. Labels are left
out on all sides. ``results/waits.json`` keeps wall and processor seconds; two tables of
``docs/performance.md`` are made from it (``--render`` does that alone).

Named datasets are read from ``MASKGAE_DATA``; graphs of ``--graphs`` are folders with
``edges.csv.gz`` and ``features.npz``, as ``maskgae contest`` takes them; one graph is generated.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.own import communities
from benchmarks.render import BUSY, MISSING, table
from benchmarks.speed import RESULTS, ROOT
from maskgae.lab.contest.graphs import load_arena
from maskgae.lab.tables.blocks import fill_file
from maskgae.store.write import write_store

PAGE, RESULT = ROOT / "docs" / "performance.md", RESULTS / "waits.json"
GENERATED = "64,000 nodes"
GRAPHS = (
    "Cora",
    "actor",
    "PubMed",
    "dblp",
    "Photo",
    "twitch-de",
    "facebook-pages",
    "blogcatalog",
    "deezer-hu",
    "Computers",
    GENERATED,
    "arxiv-citations-directed",
)
#: What is timed, by the names of the table.
OURS = {"quick": "fit --quick", "first": "fit --quick, first on a machine", "fit": "fit"}
OTHERS = {"svd": "SVD", "node2vec": "node2vec", "gae": "PyG GAE"}
#: Parts of a command in their order; those of alternatives are the first, some and the fourth.
PARTS = ("start", "reading", "training", "scoring", "embedding", "page")

Answer = dict[str, Any]


def stored(place: str, folder: Path) -> int:
    """Writes a graph without its labels as a store; its number of edges."""
    graph = communities()[0] if place == GENERATED else load_arena(place).graph
    graph = replace(graph, labels=None, node_split=None)
    write_store(folder, graph, np.arange(graph.num_nodes))
    return graph.num_pairs


def measure(store: Path, way: str, threads: int) -> Answer:
    """What one command takes on one graph."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answer.json"
        words = [way, str(store), "--threads", str(threads), "--out", str(out)]
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        if way == "first":  # loops that nobody has compiled yet
            environment["NUMBA_CACHE_DIR"] = folder
        started = ["--started", repr(time.time())]
        command = [sys.executable, "-m", "benchmarks.wait", *words, *started]
        subprocess.run(command, check=True, env=environment)
        return json.loads(out.read_text()) | {"threads": threads}


def tables(report: Answer) -> dict[str, str]:
    """The two tables of the page by name."""
    if not report.get("graphs"):
        return {"waits": MISSING, "waits_parts": MISSING}
    names = [name for name in GRAPHS if name in report["graphs"]]
    ways = {**OURS, **OTHERS}
    head = ["seconds, and rank Hits@10", "edges", *ways.values()]
    rows = []
    for name in names:
        found = report["graphs"][name]
        rows.append([name, f"{found['edges']:,}", *(_whole(found.get(way)) for way in ways)])
    parts = [
        [f"{name}, {title}", *(_part(found, part) for part in PARTS)]
        for name in names
        for way, title in OURS.items()
        if (found := report["graphs"][name].get(way))
    ]
    text = f"{_where(report)}\n\n{table(head, rows)}"
    return {"waits": text, "waits_parts": table(["seconds", *PARTS], parts)}


def _whole(found: Answer | None) -> str:
    if found is None:
        return "–"
    hits = found["metrics"].get("rank_hits@10")
    seconds = found["cpu_s" if found["load"] > BUSY else "wall_s"]
    return f"{seconds:.0f} ({100 * hits:.1f})" if hits is not None else f"{seconds:.0f}"


def _part(found: Answer, part: str) -> str:
    wall, cpu = found["parts"].get(part, (0.0, 0.0))
    return f"{cpu if found['load'] > BUSY else wall:.1f}"


def _where(report: Answer) -> str:
    about = report["machine"]
    cells = [cell for ways in report["graphs"].values() for cell in ways.values()]
    rows = [cell for cell in cells if isinstance(cell, dict)]
    threads = max(row["threads"] for row in rows)
    loads = [row["load"] for row in rows]
    text = f"{about['cpu']}, {about['cores']} cores, torch {about['torch']}, {report['date']}, "
    text += f"{threads} thread{'s' if threads > 1 else ''}."
    if max(loads) > BUSY:
        text += f" Where other jobs ran beside it (load up to {max(loads):.0f}), seconds are the "
        text += "processor's, of all threads together."
    return text


def place_of(name: str, graphs: Path | None) -> str | None:
    """Where a graph is, or ``None`` where it is not to be had."""
    if name == GENERATED:
        return name
    if graphs is not None and (graphs / name).is_dir():
        return str(graphs / name)
    data = os.environ.get("MASKGAE_DATA")
    return name if data and (Path(data) / name).is_dir() else None


def opened(path: Path) -> Answer:
    """What a report has so far, as of this machine and day."""
    report = json.loads(path.read_text()) if path.exists() else {"graphs": {}}
    return {**report, "machine": machine.describe(), "date": time.strftime("%Y-%m-%d")}


def places(names: Sequence[str], graphs: Path | None) -> Iterator[tuple[str, str]]:
    """Names of graphs and where they are; those that are not to be had are named."""
    for name in names:
        place = place_of(name, graphs)
        if place is None:
            print(f"{name} is not to be had: left out")
        else:
            yield name, place


def run(options: argparse.Namespace) -> None:
    """Measures what was asked for and keeps the rest."""
    report, load = opened(options.out), os.getloadavg()[0]  # before there is any of our own
    for name, place in places(options.only, options.graphs):
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "store"
            found = report["graphs"].setdefault(name, {})
            found["edges"] = stored(place, store)
            for way in options.ways:
                found[way] = measure(store, way, options.threads) | {"load": load}
                options.out.write_text(json.dumps(report, indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=Path, help="a folder of folders with graphs")
    parser.add_argument("--only", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    ways = [*OURS, *OTHERS]
    parser.add_argument("--ways", nargs="+", choices=ways, default=ways)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--render", action="store_true", help="only write the page")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    if not options.render:
        run(options)
    if options.out == RESULT:
        fill_file(PAGE, tables(json.loads(RESULT.read_text())))


if __name__ == "__main__":
    main()
