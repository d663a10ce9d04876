"""Graphs of one's own, through the commands: ``python -m benchmarks.own [PART ...]``.

==========  ====================================================================================
tables      PubMed and Computers written out as CSV, ``fit`` with no setting
generated   64,000 nodes, 290,000 edges, 20 communities, a text column that tells of 30 % of them
new nodes   ``embed`` on a graph that grew by 5 %; held-out links of the new nodes
links       Cora with 10 % of its edges removed: which of them ``links`` finds again
==========  ====================================================================================

Leaves ``benchmarks/results/own.json`` and fills ``docs/own-graph.md``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from benchmarks.speed import RESULTS, ROOT
from maskgae.base.display import ROW_NAMES
from maskgae.base.rng import stream
from maskgae.data.graph import Graph
from maskgae.data.negatives import NonEdges
from maskgae.datasets.generated import generate
from maskgae.datasets.registry import load_dataset
from maskgae.evaluation.metrics import auc
from maskgae.evaluation.rules import link_heuristics
from maskgae.lab.tables.blocks import fill_file, markdown_table
from maskgae.run import Run
from maskgae.run.grown import read_like

Answer = dict[str, Any]
TOPS = (10, 50)


def command(*words: str | Path) -> float:
    """Runs a command of the package; its seconds."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "maskgae", *map(str, words)], check=True)
    return time.perf_counter() - started


def names(count: int) -> NDArray[Any]:
    return np.array([f"node {i:06d}" for i in range(count)], dtype=object)


def write_edges(path: Path, pairs: NDArray[Any], ids: NDArray[Any]) -> None:
    pd.DataFrame({"source": ids[pairs[0]], "target": ids[pairs[1]]}).to_csv(path, index=False)


def node_table(graph: Graph, ids: NDArray[Any]) -> pd.DataFrame:
    """A table of features with an id and, at the end, the label."""
    assert graph.features is not None
    x = graph.features.dense().numpy()
    table = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])])
    table.insert(0, "id", ids)
    if graph.labels is not None:
        table["label"] = [f"class {label}" for label in graph.labels.tolist()]
    return table


def measured(run: Path) -> Answer:
    """Means of the record's metrics and heuristic baselines."""
    record = json.loads((run / "metrics.json").read_text())
    rows = {"MaskGAE": record["metrics"], **record["sanity"]}
    return {
        name: {key: value["mean"] for key, value in row.items() if key in ("auc", "ap", "accuracy")}
        for name, row in rows.items()
    }


def tables(folder: Path) -> Iterator[tuple[str, Answer]]:
    for name in ("PubMed", "Computers"):
        graph = load_dataset(name)
        ids, run = names(graph.num_nodes), folder / name
        write_edges(folder / f"{name}.csv", graph.pairs.numpy(), ids)
        node_table(graph, ids).to_csv(folder / f"{name}-nodes.csv", index=False)
        about = ("--nodes", folder / f"{name}-nodes.csv", "--label", "label", "--out", run)
        seconds = command("fit", folder / f"{name}.csv", *about)
        yield name, {"seconds": seconds, "rows": measured(run)}


def generated(folder: Path) -> Iterator[tuple[str, Answer]]:
    graph, table = communities()
    write_edges(folder / "big.csv", graph.pairs.numpy(), names(graph.num_nodes))
    table.to_csv(folder / "big-nodes.csv", index=False)
    about = ("--nodes", folder / "big-nodes.csv", "--label", "label", "--out", folder / "big")
    seconds = command("fit", folder / "big.csv", *about)
    yield "64,000 nodes", {"seconds": seconds, "rows": measured(folder / "big")}


def communities() -> tuple[Graph, pd.DataFrame]:
    """64,000 nodes, and a table whose text tells of the community of some."""
    graph = generate(64_000, 290_000, num_features=0, communities=20, name="generated")
    assert graph.labels is not None
    labels = graph.labels.numpy()
    columns = {"id": names(labels.size), "about": told_words(labels, share=0.3)}
    return graph, pd.DataFrame({**columns, "label": [f"c{label}" for label in labels]})


def told_words(labels: NDArray[Any], share: float) -> list[str]:
    """Eight words a node; for a share of the nodes half of them are the community's own."""
    draw = stream(0, "benchmark", "words").numpy()
    common = draw.integers(0, 1_000, size=(labels.size, 8))
    own = 1_000 + 10 * labels[:, None] + draw.integers(0, 10, size=(labels.size, 4))
    telling = draw.random(labels.size) < share
    common[telling, :4] = own[telling]
    return [" ".join(f"word{code}" for code in row) for row in common]


def new_nodes(folder: Path) -> Iterator[tuple[str, Answer]]:
    """The last 5 % of the nodes come later; half of their links are held out."""
    pubmed = load_dataset("PubMed")
    for name, graph, table in (
        ("PubMed", pubmed, node_table(pubmed, names(pubmed.num_nodes))),
        ("64,000 nodes", *communities()),
    ):
        place = folder / name
        place.mkdir()
        yield name, {"auc": grown(place, graph, table)}


def grown(folder: Path, graph: Graph, table: pd.DataFrame) -> float:
    """AUC of the new nodes' held-out links, after ``fit`` on the old graph."""
    ids, pairs = names(graph.num_nodes), graph.pairs.numpy()
    first_new = round(0.95 * graph.num_nodes)
    late = (pairs >= first_new).any(0)
    held = late & (stream(0, "benchmark", "held").numpy().random(late.size) < 0.5)
    write_edges(folder / "old.csv", pairs[:, ~late], ids)
    write_edges(folder / "grown.csv", pairs[:, ~held], ids)
    table.to_csv(folder / "all-nodes.csv", index=False)
    table[:first_new].to_csv(folder / "old-nodes.csv", index=False)
    about = ("--nodes", folder / "old-nodes.csv", "--label", "label", "--out", folder / "old")
    command("fit", folder / "old.csv", *about)
    new = ("--edges", folder / "grown.csv", "--nodes", folder / "all-nodes.csv")
    command("embed", folder / "old", *new, "--out", folder / "grown.npy")
    # The same graph as the command read, to score pairs of it.
    saved = Run.load(folder / "old")
    seen = read_like(saved, folder / "grown.csv", folder / "all-nodes.csv")
    place = pd.Series(np.arange(ids.size), index=seen.ids)[ids].to_numpy()
    drawn = NonEdges(graph).sample(60 * int(held.sum()), stream(0, "benchmark", "negatives"))
    drawn = drawn.numpy()[:, (drawn.numpy() >= first_new).any(0)][:, : int(held.sum())]
    positive, negative = (
        saved.net.score(seen.graph, torch.from_numpy(place[wanted])).numpy()
        for wanted in (pairs[:, held], drawn)
    )
    return auc(positive, negative)


def links(folder: Path) -> Iterator[tuple[str, Answer]]:
    graph = load_dataset("Cora")
    ids, pairs = names(graph.num_nodes), graph.pairs.numpy()
    removed = stream(0, "benchmark", "removed").numpy().random(pairs.shape[1]) < 0.1
    write_edges(folder / "cora.csv", pairs[:, ~removed], ids)
    node_table(graph, ids).to_csv(folder / "cora-nodes.csv", index=False)
    about = ("--nodes", folder / "cora-nodes.csv", "--label", "label", "--out", folder / "cora")
    command("fit", folder / "cora.csv", *about)
    out = folder / "links.parquet"
    seconds = command("links", folder / "cora", "--top", str(max(TOPS)), "--out", out)
    found = pd.read_parquet(out)
    rank = found.groupby("source").cumcount().to_numpy()
    number = pd.Series(np.arange(ids.size), index=ids)
    ends = np.stack([number[found["source"]].to_numpy(), number[found["target"]].to_numpy()])
    seen = Graph.from_edges(pairs[:, ~removed], graph.num_nodes, features=graph.features)
    wanted = pairs[:, removed]
    recalls = {"MaskGAE": {str(k): recall(ends[:, rank < k], wanted, ids.size) for k in TOPS}}
    for name in ("adamic_adar", "feature_cosine"):
        best = best_by(seen, name, max(TOPS))
        recalls[name] = {str(k): recall(_pairs(best[:, :k]), wanted, ids.size) for k in TOPS}
    yield "Cora", {"seconds": seconds, "removed": int(removed.sum()), "recall": recalls}


def best_by(graph: Graph, name: str, top: int) -> NDArray[Any]:
    """For each node the ``top`` non-neighbours that a heuristic scores highest, ``[N, top]``."""
    count, known = graph.num_nodes, graph.structure.csr
    best = np.empty((count, top), dtype=np.int64)
    others = torch.arange(count)
    for node in range(count):
        scores = link_heuristics(graph, torch.stack([torch.full((count,), node), others]))[name]
        scores[node] = -np.inf
        scores[known.indices[known.indptr[node] : known.indptr[node + 1]].numpy()] = -np.inf
        best[node] = np.argsort(-scores, kind="stable")[:top]
    return best


def _pairs(best: NDArray[Any]) -> NDArray[Any]:
    return np.stack([np.repeat(np.arange(best.shape[0]), best.shape[1]), best.reshape(-1)])


def recall(listed: NDArray[Any], wanted: NDArray[Any], count: int) -> float:
    """The share of the wanted links, each asked for from both ends, that were listed."""
    keys = np.unique(listed[0] * count + listed[1])
    asked = np.concatenate([wanted[0] * count + wanted[1], wanted[1] * count + wanted[0]])
    return float(np.isin(asked, keys).mean())


PARTS: dict[str, Callable[[Path], Iterator[tuple[str, Answer]]]] = {
    "tables": tables,
    "generated": generated,
    "new nodes": new_nodes,
    "links": links,
}


def blocks(report: Answer) -> dict[str, str]:
    """The tables of the guide."""
    fitted = {**report.get("tables", {}), **report.get("generated", {})}
    rows = []
    for name, found in fitted.items():
        for row, values in found["rows"].items():
            cells = [f"{100 * values[key]:.1f}" if key in values else "" for key in COLUMNS]
            rows.append([f"{name}: {ROW_NAMES.get(row, row)}", *cells])
    times = ", ".join(f"{name} {found['seconds']:.0f} s" for name, found in fitted.items())
    out = {"own-fit": markdown_table(["", *COLUMNS], rows) + f"\n\nTime of `fit`: {times}."}
    grew = report.get("new nodes", {}).items()
    out["own-new"] = "; ".join(f"{name}: AUC {100 * found['auc']:.1f}" for name, found in grew)
    for found in report.get("links", {}).values():
        shown = [
            [ROW_NAMES.get(name, name), *(f"{found['recall'][name][str(k)]:.3f}" for k in TOPS)]
            for name in found["recall"]
        ]
        out["own-links"] = markdown_table(["", *(f"top {k}" for k in TOPS)], shown)
    return out


COLUMNS = ("auc", "ap", "accuracy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all where none is named")
    target = RESULTS / "own.json"
    report = json.loads(target.read_text()) if target.exists() else {}
    for part in parser.parse_args().parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            report[part] = dict(PARTS[part](Path(folder)))
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(report, indent=1) + "\n")
    fill_file(ROOT / "docs" / "own-graph.md", blocks(report))


if __name__ == "__main__":
    main()
