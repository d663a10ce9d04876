"""Approximate ``links`` beside exact ones: ``python -m benchmarks.candidates PLACE``.

``PLACE`` is a folder with ``edges.csv`` or ``edges.csv.gz``, read as undirected. It is fitted by
``fit --quick``, all of its nodes are asked for their ten best links, and on nodes that played no
part in choosing the numbers of candidates the answer is compared with the scorer over all nodes.

Leaves ``benchmarks/results/candidates.json`` and fills ``docs/own-graph.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch

from benchmarks.speed import RESULTS, ROOT
from maskgae.base.files import write_json
from maskgae.base.rng import stream
from maskgae.evaluation.outcome import forget_peak, peak_rss_mb
from maskgae.lab.contest.graphs import graph_name, load_arena
from maskgae.lab.tables.blocks import fill_file, markdown_table
from maskgae.run.fit import fit
from maskgae.run.links import measured_recall

RESULT, PAGE = RESULTS / "candidates.json", ROOT / "docs" / "own-graph.md"
TOP, ASKED = 10, 500
Report = dict[str, Any]
Answer = TypeVar("Answer")


def timed(work: Callable[[], Answer]) -> tuple[Answer, Report]:
    """An answer, with seconds by the clock and of all cores, and the most memory held."""
    forget_peak()
    clock, cores = time.perf_counter(), time.process_time()
    found = work()
    cost = {"seconds": time.perf_counter() - clock, "cpu_s": time.process_time() - cores}
    return found, {**cost, "peak_mb": peak_rss_mb()}


def unseen(nodes: int) -> torch.Tensor:
    """Nodes to compare on: none of the first 500 that ``links`` itself would take as its sample."""
    known = torch.randperm(nodes, generator=stream(0, "recall").torch())[:ASKED]
    order = torch.randperm(nodes, generator=stream(1, "unseen").torch())
    return order[~torch.isin(order, known)][:ASKED].sort().values


def measured(place: str) -> Report:
    """Fits, asks for all links, and compares some with exact ones."""
    graph = load_arena(place).graph
    run, fitting = timed(lambda: fit(graph, quick=True))
    links, asking = timed(lambda: run.search.links(TOP))
    where = run.search.candidates()
    assert where is not None, "every pair of a graph of up to 10,000 nodes is scored"
    nodes = unseen(graph.num_nodes)
    recall, comparing = timed(lambda: measured_recall(run.search.scores, graph, where, TOP, nodes))
    about = {"graph": graph_name(place), "nodes": graph.num_nodes, "edges": graph.num_pairs}
    machine = {"threads": torch.get_num_threads(), "load": os.getloadavg()[0]}
    costs = {"fit": fitting, "links": asking, "exact": comparing}
    found = {"links": links.source.numel(), "recall": recall.share, "asked": recall.nodes}
    return {**about, **machine, **costs, "found": found, "indexed": where.indexed}


def blocks(reports: dict[str, Report]) -> dict[str, str]:
    """The table of the page, a row for each graph."""
    header = ["graph", "nodes", "edges", f"of the best {TOP}", "seconds", "threads, load"]
    header += ["seconds of all cores", "peak MB", "`fit --quick`, seconds of all cores"]
    lines = []
    for report in reports.values():
        links, found = report["links"], report["found"]
        cells = [report["graph"], f"{report['nodes']:,}", f"{report['edges']:,}"]
        cells += [f"{100 * found['recall']:.1f} % ({found['asked']} nodes)"]
        cells += [f"{links['seconds']:,.0f}", f"{report['threads']}, {report['load']:.1f}"]
        cells += [f"{links[key]:,.0f}" for key in ("cpu_s", "peak_mb")]
        lines.append([*cells, f"{report['fit']['cpu_s']:,.0f}"])
    return {"candidates": markdown_table(header, lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("place", nargs="?", help="a folder; without it the page is filled again")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    if asked.place is not None:
        torch.set_num_threads(asked.threads)
        found = measured(str(Path(asked.place)))
        kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
        write_json(RESULT, kept | {found["graph"]: found})
    fill_file(PAGE, blocks(json.loads(RESULT.read_text())))


if __name__ == "__main__":
    main()
