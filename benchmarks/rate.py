"""Pairs a second in batches: ``python -m benchmarks.rate [--sizes 1e6 1e7 5e7]``.

For each number of pairs, with a tenth as many nodes and 64 features, the package's own trainer
learns for some updates of 65,536 pairs, as ``fit --batch-pairs 65536`` would, each time in a
process of its own: on one core, on two (the next batch is cut on the other), with two threads, and
by two ranks of a core each. Beside it stands what cutting a batch takes, and what a sampler takes
that is written plainly in NumPy. ``results/rate.json`` keeps wall and processor seconds of an
update; a table and a chart of ``docs/performance.md`` are made from it (``--render`` does that
alone).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks import machine
from benchmarks.plain_sampler import numpy_blocks
from benchmarks.render import BUSY, MISSING, table
from benchmarks.speed import RESULTS, ROOT
from maskgae.base.rng import Stream, stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.lab.tables.blocks import fill_file
from maskgae.nn.blocks import Sampler
from maskgae.nn.network import MaskGAENet
from maskgae.run.defaults import suggest
from maskgae.run.plan import with_batches
from maskgae.store.store import open_store
from maskgae.training.loop import Trainer
from maskgae.training.parallel import launched
from maskgae.training.steps import Steps

PAGE, RESULT = ROOT / "docs" / "performance.md", RESULTS / "rate.json"
BATCH, WARM = 65536, 3

Answer = dict[str, Any]

#: What is measured, by name: ranks, threads of each, and cores that each may use.
WAYS = {"one core": (1, 1, 1), "two cores": (1, 1, 2), "two threads": (1, 2, 2)}
WAYS |= {"two ranks": (2, 1, 1)}
#: Those whose processor time, of one rank, tells what they take on cores of their own.
BY_PROCESSOR = ("one core", "two ranks")


class Watched(Trainer):
    """A trainer that notes the time of its updates."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.marks: list[tuple[float, float]] = []

    def _update(self, loss: Tensor) -> None:
        super()._update(loss)
        self.marks.append((time.perf_counter(), time.process_time()))


def settings_for(graph: Graph) -> Settings:
    """As ``fit`` chooses them, for batches."""
    return with_batches(graph, Settings().updated(suggest(graph).settings), BATCH)


def learn(store: Path, updates: int) -> Answer:
    """Seconds of an update, wall and processor, after some that do not count."""
    graph = open_store(store).graph
    settings = settings_for(graph).updated({"training.max_steps": WARM + updates})
    net = MaskGAENet.for_graph(graph, settings)
    trainer = Watched(net, graph, None, stream(0, "benchmark"))
    while trainer.state.step < WARM + updates:
        trainer._epoch()
    wall, cpu = np.median(np.diff(trainer.marks[WARM - 1 :], axis=0), axis=0).tolist()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall_s": wall, "cpu_s": cpu, "updates": updates, "peak_mb": peak}


def cut(store: Path, times: int = 4) -> Answer:
    """Processor seconds of cutting a batch, by our sampler and by a plain one in turn."""
    graph = open_store(store).graph
    steps = Steps(graph, settings_for(graph), stream(0, "benchmark"))
    masked = steps.mask(0)
    sampler, visible = Sampler(graph, masked.visible), masked.visible.numpy()
    targets = graph.pairs[:, next(steps.batches(masked, 0))].long()
    seeds, _ = sampler.seeds(torch.cat([targets, steps.negatives(targets, 0, 0)], dim=1))
    ways: dict[str, Callable[[Stream], Any]] = {
        "ours": lambda draw: sampler.blocks(seeds, steps.fanouts, draw),
        "NumPy": lambda draw: numpy_blocks(graph, visible, seeds.numpy(), steps.fanouts, draw),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(times):
        for name, way in ways.items():
            started = time.process_time()
            way(stream(0, "cut", number))
            found[name].append(time.process_time() - started)
    return {name: statistics.median(seconds[1:]) for name, seconds in found.items()}


def measure(store: Path, way: str, updates: int) -> Answer:
    """One way of learning in processes of its own, whose answers they write."""
    ranks, threads, cores = WAYS[way]
    with tempfile.TemporaryDirectory() as folder:
        launcher = [sys.executable, "-m"]
        if ranks > 1:
            launcher += ["torch.distributed.run", "--nproc-per-node", str(ranks), "-m"]
        words = ["--child", folder, "--store", str(store), "--updates", str(updates)]
        words += ["--threads", str(threads), "--cores", str(cores)]
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        subprocess.run([*launcher, "benchmarks.rate", *words], check=True, env=environment)
        found = [json.loads(path.read_text()) for path in Path(folder).iterdir()]
    slowest = {name: max(each[name] for each in found) for name in found[0]}
    return slowest | {"ranks": ranks, "threads": threads, "load": os.getloadavg()[0]}


def child(options: argparse.Namespace) -> None:
    """What a process of :func:`measure` does."""
    rank = int(os.environ.get("LOCAL_RANK", 0))
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[(rank + core) % len(cores)] for core in range(options.cores)})
    torch.set_num_threads(options.threads)
    with launched("cpu"):
        answer = learn(options.store, options.updates)
    (options.child / f"{rank}.json").write_text(json.dumps(answer))


def generated(pairs: int, folder: Path) -> Path:
    """The store of a generated graph, made where it is not there."""
    store = folder / f"rate-{pairs}"
    if not store.exists():
        request = f"nodes={pairs // 10},pairs={pairs},features=64"
        words = ["ingest", "--generate", request, "--out", str(store)]
        subprocess.run([sys.executable, "-m", "maskgae", *words], check=True)
    return store


def pairs_per_second(found: Answer, way: str) -> float | None:
    """Of one way of learning; by processor time where other jobs ran beside it."""
    if way not in found:
        return None
    busy = found[way]["load"] > BUSY
    if busy and way not in BY_PROCESSOR:
        return None
    return BATCH / float(found[way]["cpu_s" if busy else "wall_s"])


def tables(report: Answer) -> dict[str, str]:
    """The table of the page by name, with where it comes from."""
    if not report.get("sizes"):
        return {"rate": MISSING}
    head = ["pairs", *WAYS, "two ranks against one", "peak of a process"]
    head += ["cutting a batch", "in plain NumPy"]
    rows = []
    for pairs, found in sorted(report["sizes"].items(), key=lambda item: int(item[0])):
        rates = {way: pairs_per_second(found, way) for way in WAYS}
        one, two = (rates[way] for way in BY_PROCESSOR)
        cells = ["–" if rate is None else f"{rate:,.0f}" for rate in rates.values()]
        peak = f"{found['one core']['peak_mb']:,.0f} MB" if "one core" in found else "–"
        cuts = [f"{1e3 * s:,.0f} ms" for s in found.get("cut", {}).values()] or ["–", "–"]
        gain = f"{two / one:.2f}" if one and two else "–"
        rows.append([f"{int(pairs):,}", *cells, gain, peak, *cuts])
    return {"rate": f"{_where(report)}\n\n{table(head, rows)}"}


def _drawn(report: Answer) -> dict[str, dict[int, float]]:
    """Pairs a second by way and by size, where they were measured."""
    sizes = {int(pairs): found for pairs, found in report["sizes"].items()}
    return {
        way: {n: rate for n, found in sizes.items() if (rate := pairs_per_second(found, way))}
        for way in WAYS
    }


def _where(report: Answer) -> str:
    about = report["machine"]
    loads = [way.get("load", 0) for size in report["sizes"].values() for way in size.values()]
    busy = f" Other jobs ran beside it (load {max(loads):.0f}): seconds are the processor's."
    where = f"{about['cpu']}, {about['cores']} cores, torch {about['torch']}, {report['date']}."
    return where + (busy if max(loads) > BUSY else "")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=float, default=[1e6, 1e7, 5e7], help="of pairs")
    parser.add_argument("--ways", nargs="+", choices=[*WAYS, "cut"], default=[*WAYS, "cut"])
    parser.add_argument("--updates", type=int, default=12, help="that count")
    parser.add_argument("--folder", type=Path, help="where stores lie, and stay; else temporary")
    parser.add_argument("--render", action="store_true", help="only write the page")
    parser.add_argument("--out", type=Path, default=RESULT)
    for name, kind in (("child", Path), ("store", Path), ("threads", int), ("cores", int)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        child(options)
        return
    if not options.render:
        with tempfile.TemporaryDirectory() as folder:
            run(options, options.folder or Path(folder))
    if options.out == RESULT:
        report = json.loads(RESULT.read_text())
        fill_file(PAGE, tables(report))
        with suppress(ModuleNotFoundError):  # without matplotlib there is no chart
            from benchmarks.chart import draw_rates

            draw_rates(_drawn(report), RESULTS)


def run(options: argparse.Namespace, folder: Path) -> None:
    """Measures what was asked for and keeps the rest."""
    report = json.loads(options.out.read_text()) if options.out.exists() else {"sizes": {}}
    report |= {"machine": machine.describe(), "date": time.strftime("%Y-%m-%d")}
    for pairs in map(round, options.sizes):
        store, found = generated(pairs, folder), report["sizes"].setdefault(str(pairs), {})
        for way in options.ways:
            found[way] = cut(store) if way == "cut" else measure(store, way, options.updates)
            options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
