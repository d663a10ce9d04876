"""Time to quality: ``python -m benchmarks.stopping [--graphs FOLDER] [--only GRAPH ...]``.

What ``fit`` trains with, and the same with updates on a part of the masked edges: an epoch still
draws its own mask, and its update learns from as many of the targets as the name says. Every ten
epochs validation AUC and the mean 1 / rank of validation partners are taken, and the processor
seconds of training until then, on one thread; the test is never looked at.
``results/stopping.json`` keeps the curves; a table of ``docs/performance.md`` is made from it
(``--render`` does that alone).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from benchmarks.render import MISSING, table
from benchmarks.speed import RESULTS, ROOT
from benchmarks.waits import opened, places
from maskgae.base.rng import Stream
from maskgae.evaluation.link_task import selection_pairs
from maskgae.lab.contest.graphs import load_arena
from maskgae.lab.tables.blocks import fill_file
from maskgae.masking.mask import Masked
from maskgae.nn.network import MaskGAENet
from maskgae.run.defaults import resolve_settings
from maskgae.run.task import prepared
from maskgae.training.loop import Trainer

PAGE, RESULT = ROOT / "docs" / "performance.md", RESULTS / "stopping.json"
GRAPHS = ("Cora", "PubMed", "dblp", "facebook-pages", "deezer-hu")
#: Targets of an update by name; all of them at first.
WAYS = {"all": 0, "8,192": 8192, "4,096": 4096}
EVERY, SHARE = 10, 0.99

#: Epoch, processor seconds of training, validation AUC and mean 1 / rank.
Curve = list[tuple[int, float, float, float]]


class Watched(Trainer):
    """A trainer that notes what its validations find, and what training took until then."""

    spent = 0.0

    def _learn(self, masked: Masked) -> float:
        started = time.process_time()
        loss = super()._learn(masked)
        self.spent += time.process_time() - started
        return loss

    def curve(self) -> Curve:
        """Trains to the end."""
        found: Curve = []
        while not self.state.stopped:
            self._epoch()
            row = self.state.history[-1]
            if row["val_auc"] is not None:
                found.append((self.state.epoch, self.spent, row["val_auc"], row["val_rank"]))
        return found


def curve(place: str, targets: int, seed: int, epochs: int) -> Curve:
    """One training run on the graph at a place."""
    graph = load_arena(place).graph
    given = {"seed": seed, "training.epochs": epochs, "training.patience": 0}
    given |= {"training.select": "val_rank", "training.eval_every": EVERY}
    if targets:
        given |= {"training.batch_pairs": targets, "training.epoch_steps": 1}
    settings = resolve_settings(graph, overrides=given)
    task = prepared(graph, settings, True)
    assert task.split is not None
    net = MaskGAENet.for_graph(task.train, settings)
    net.reset_parameters(Stream(seed).at("weights"))
    validation = selection_pairs(task.split, settings)[0]
    return Watched(net, task.train, validation, Stream(seed)).curve()


def tables(report: dict[str, Any]) -> dict[str, str]:
    """The table of the page by name."""
    rows = []
    for name, ways in report.get("graphs", {}).items():
        tops = {seed: [max(row[i] for row in c) for i in (2, 3)] for seed, c in ways["all"].items()}
        for way, curves in ways.items():
            seeds = [seed for seed in curves if seed in tops]
            if seeds:
                rows.append([name, way, str(len(seeds)), *_row(curves, tops, seeds)])
    head = [
        "",
        "targets of an update",
        "seeds",
        "an epoch",
        "all epochs",
        "best AUC",
        "best 1 / rank",
    ]
    head += [f"to {SHARE:.0%} of the best AUC", f"to {SHARE:.0%} of the best 1 / rank"]
    return {"stopping": table(head, rows) if rows else MISSING}


def _row(curves: dict[str, Curve], tops: dict[str, list[float]], seeds: list[str]) -> list[str]:
    last = [curves[seed][-1] for seed in seeds]
    cells = [
        f"{fmean(row[1] / row[0] for row in last):.2f} s",
        f"{fmean(r[1] for r in last):.0f} s",
    ]
    cells += [f"{100 * fmean(max(r[i] for r in curves[s]) for s in seeds):.2f}" for i in (2, 3)]
    return cells + [_reached(curves, tops, seeds, i) for i in (2, 3)]


def _reached(
    curves: dict[str, Curve], tops: dict[str, list[float]], seeds: list[str], figure: int
) -> str:
    """Mean seconds until most of what all targets reach at best is reached."""
    found = []
    for seed in seeds:
        least = SHARE * tops[seed][figure - 2]
        found += [row[1] for row in curves[seed] if row[figure] >= least][:1]
    if len(found) < len(seeds):
        return f"{len(found)} of {len(seeds)}"
    return f"{fmean(found):.0f} s"


def run(options: argparse.Namespace) -> None:
    """Measures what was asked for and keeps the rest."""
    torch.set_num_threads(1)
    report = opened(options.out)
    for name, place in places(options.only, options.graphs):
        ways = report["graphs"].setdefault(name, {})
        for seed in options.seeds:
            for way in options.ways:
                found = curve(place, WAYS[way], seed, options.epochs)
                ways.setdefault(way, {})[str(seed)] = found
                options.out.write_text(json.dumps(report) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=Path, help="a folder of folders with graphs")
    parser.add_argument("--only", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1000, 1001, 1002])
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--render", action="store_true", help="only write the page")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    if not options.render:
        run(options)
    if options.out == RESULT and RESULT.exists():
        fill_file(PAGE, tables(json.loads(RESULT.read_text())))


if __name__ == "__main__":
    main()
