"""How cost grows with the graph: ``python -m benchmarks.scale [--sizes 1e6 1e7 5e7]``.

For each number of pairs, with a tenth as many nodes and 64 features, the package's own commands
run one after the other, each in a process that is watched from outside: generate a store, ingest
the same edges from a CSV file, fit in batches, embed. ``results/scale.json`` keeps the seconds and
the peaks of memory; ``python -m benchmarks.scale --render`` writes ``docs/scale.md`` from it.

Memory is what ``/proc`` says of the process ten times a second: *anonymous* memory is what it
holds itself, *mapped* pages are those of the store and of temporary files, which the system takes
back when it needs them.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks import machine
from benchmarks.growth import tables
from benchmarks.speed import RESULTS, ROOT
from maskgae.evaluation.scorer import NETWORK
from maskgae.lab.tables.blocks import fill_file
from maskgae.store.store import open_store

PAGE, RESULT = ROOT / "docs" / "scale.md", RESULTS / "scale.json"
NODES_A_PAIR, FEATURES, PART = 0.1, 64, 2**21
TASKS = ("generate", "ingest", "fit", "embed")
#: The validation AUC that a fit is timed to.
GOAL = 0.95

Answer = dict[str, Any]


def watched(command: Sequence[str], log: Path) -> Answer:
    """Runs a command; its seconds, and the peaks of its memory in MiB."""
    started, peaks = time.perf_counter(), {"RssAnon": 0, "RssFile": 0}
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with log.open("wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        while True:
            done, status, usage = os.wait4(child.pid, os.WNOHANG)
            if done:
                break
            _look(child.pid, peaks)
            time.sleep(0.1)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{log.read_text()}")
    return {
        "seconds": time.perf_counter() - started,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "anonymous_mb": peaks["RssAnon"] / 1024,
        "mapped_mb": peaks["RssFile"] / 1024,
        "command": " ".join(Path(word).name for word in command[3:]),
    }


def _look(pid: int, peaks: dict[str, int]) -> None:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has just ended
        return
    found = dict(line.split(":", 1) for line in lines)
    for name, peak in peaks.items():
        peaks[name] = max(peak, int(found.get(name, "0").split()[0]))


def write_edges(store: Path, path: Path) -> None:
    """The pairs of a store as a CSV file, part by part."""
    pairs = open_store(store).graph.pairs.numpy()
    with path.open("wb") as file:
        file.write(b"source,target\n")
        options = pyarrow.csv.WriteOptions(include_header=False)
        for start in range(0, pairs.shape[1], PART):
            low, high = np.array(pairs[:, start : start + PART])
            pyarrow.csv.write_csv(pa.table({"source": low, "target": high}), file, options)


def measure(
    pairs: int, folder: Path, tasks: Sequence[str], steps: int, given: Sequence[str] = ()
) -> Answer:
    """All tasks on a graph of so many pairs; fits have so many updates and what is given."""
    nodes, answer = round(NODES_A_PAIR * pairs), Answer()
    answer |= {"nodes": nodes, "pairs": pairs, "load": os.getloadavg()[0]}
    maskgae = [sys.executable, "-m", "maskgae"]
    store, run, log = folder / "store", folder / "run", folder / "log"
    request = f"nodes={nodes},pairs={pairs},features={FEATURES}"
    answer["generate"] = watched(
        [*maskgae, "ingest", "--generate", request, "--out", str(store)], log
    )
    files = open_store(store).manifest["files"].values()
    answer["store_mb"] = sum(entry["bytes"] for entry in files) / 2**20
    if "ingest" in tasks:
        write_edges(store, folder / "edges.csv")
        edges = [str(folder / "edges.csv"), "--out", str(folder / "ingested")]
        answer["ingest"] = watched([*maskgae, "ingest", *edges], log)
        (folder / "edges.csv").unlink()
        shutil.rmtree(folder / "ingested")
    if "fit" in tasks:
        settings = [f"training.max_steps={steps}", "training.epochs=1000", "training.patience=0"]
        changes = [part for setting in (*settings, *given) for part in ("--set", setting)]
        fit = ["fit", str(store), "--batch-pairs", "65536", "--out", str(run), *changes]
        answer["fit"] = watched([*maskgae, *fit], log) | outcome(run)
    if "fit" in tasks and "embed" in tasks:
        out = ["embed", str(run), "--out", str(folder / "z.parquet")]
        answer["embed"] = watched([*maskgae, *out], log)
    return answer


def outcome(run: Path) -> Answer:
    """What a fit reached."""
    record = json.loads((run / "metrics.json").read_text())
    with (run / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    batch = record["settings"]["training.batch_pairs"]
    spent = itertools.accumulate(float(row["seconds"]) for row in rows)
    validated = [(row["val_auc"], at) for row, at in zip(rows, spent, strict=True)]
    reached = (at for auc, at in validated if auc and float(auc) >= GOAL)
    sanity = {
        name: row["auc"]["mean"]
        for name, row in record["sanity"].items()
        if "auc" in row and name != NETWORK  # which is a part of the answer
    }
    return {
        "updates": sum(math.ceil(int(row["targets"]) / batch) if batch else 1 for row in rows),
        "val_auc": [float(row["val_auc"]) for row in rows if row["val_auc"]],
        "to_goal_s": next(reached, None),
        "auc": record["metrics"]["auc"]["mean"],
        "best_sanity": max(sanity.items(), key=lambda item: item[1]),
        "pairs_per_s": record["facts"]["pairs_per_s"],
        "train_s": record["time_s"]["train"],
        "evaluate_s": record["time_s"]["evaluate"],
        "fanouts": record["settings"]["training.fanouts"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=float, default=[1e6, 1e7, 5e7], help="of pairs")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--steps", type=int, default=200, help="updates of a fit")
    parser.add_argument("--set", nargs="+", default=[], help="settings of the fits")
    parser.add_argument("--folder", type=Path, help="where stores lie while they are needed")
    parser.add_argument("--render", action="store_true", help="only write the page")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    report = json.loads(options.out.read_text()) if options.out.exists() else {"sizes": {}}
    if not options.render:
        report["machine"] = machine.describe()
        report["date"] = time.strftime("%Y-%m-%d")
        for size in map(round, options.sizes):
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                found = measure(size, Path(folder), options.tasks, options.steps, options.set)
            report["sizes"][str(size)] = report["sizes"].get(str(size), {}) | found
            options.out.write_text(json.dumps(report, indent=1) + "\n")
    if options.out == RESULT:
        fill_file(PAGE, tables(report))


if __name__ == "__main__":
    main()
