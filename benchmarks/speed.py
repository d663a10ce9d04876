"""Our step beside a plain PyG one: ``python -m benchmarks.speed`` (or ``make bench``).

Writes ``benchmarks/results/speed.json``, the chart beside it and the tables of
``docs/performance.md``. Every measurement runs in a process of its own, one after another; the
passes of the two sides alternate within one process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, SCALING_NODES, TINY, Case, find_case

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"

#: Cases whose parts are set against a roofline.
ROOFLINES = ("Cora", "arXiv-size", "tiny")

#: Seconds after which a measurement is given up.
PATIENCE = 3600


class Runner:
    """Starts measurements and gathers what they answer.

    Args:
        options: the command line's.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.quick, self.threads, self.plain = options.quick, options.threads, not options.no_plain
        self.what = options.what
        self.patience = 300 if self.quick else PATIENCE
        #: What could not be measured, and why; it goes into the report.
        self.failures: list[str] = []

    def ask(self, task: str, case: str, **options: Any) -> dict[str, Any] | None:
        """One measurement, or ``None`` where it took too long or too much memory."""
        command = [sys.executable, "-m", "benchmarks.measure", task, case]
        command += ["--threads", str(self.threads)] + ["--quick"] * self.quick
        for name, value in options.items():
            command += [f"--{name}", *map(str, value if isinstance(value, tuple) else (value,))]
        environment = os.environ | {"OMP_NUM_THREADS": str(self.threads)}
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "answer.json"
            started = time.perf_counter()
            try:
                done = subprocess.run(
                    [*command, "--out", str(out)],
                    cwd=ROOT, env=environment, timeout=self.patience, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return self._failed(task, case, options, f"given up after {self.patience} s")
            took = time.perf_counter() - started
            if done.returncode or not out.exists():
                return self._failed(task, case, options, f"ended with code {done.returncode}")
            print(f"  {task} {case} {options.get('sides', '')} took {took:.0f} s", flush=True)
            return dict(json.loads(out.read_text()))

    def _failed(self, task: str, case: str, options: dict[str, Any], why: str) -> None:
        sides = " ".join(options.get("sides", ()))
        self.failures.append(f"{case}: {task} {sides} {why}".replace("  ", " "))
        print(f"  {self.failures[-1]}", flush=True)

    def case(self, case: Case, before: dict[str, Any]) -> dict[str, Any]:
        """All that is measured of one case; what is not measured now stays as it was before."""
        found = before if self.what == "training" else self.steps(case)
        best = fastest_plain(found) if found else None
        if best and case.updates and self.what != "steps":
            batched = ("ours-batched", "ours-often") if "ours-batched" in found["sides"] else ()
            found["to_auc"] = self.to_auc(case, best, ("ours", *batched))
        elif "to_auc" in before:
            found["to_auc"] = before["to_auc"]
        return found

    def steps(self, case: Case) -> dict[str, Any]:
        """Time of a pass on all sides, the parts of ours, and memory."""
        sides = ("plain", "plain-csr", "ours", "ours-batched") if self.plain else ("ours",)
        if self.quick:
            pace = {"least": 3, "most": 10, "budget": 5, "limit": 5}
        else:
            pace = {"least": 3, "most": 50, "budget": 60, "limit": 30}
        # Both layouts of the plain side may not fit at once; ours alone is better than nothing.
        found = self.ask("steps", case.name, sides=sides, **pace) or self.ask(
            "steps", case.name, sides=("ours",), **pace
        )
        if found is None:
            return {}
        found["published"] = case.published
        # Twenty passes, or as many as take half a minute.
        passes = max(3, min(20, round(3e4 / found["sides"]["ours"]["ms"])))
        found["parts"] = self.ask(
            "parts", case.name, least=min(10, passes) if self.quick else passes
        )
        found["memory"] = {
            side: self.ask("memory", case.name, sides=(side,), least=2, limit=0)
            for side in found["sides"]
        }
        if case.name in ROOFLINES:
            found["work"] = self.ask("roofline", case.name)
        return found | {"quick": self.quick}

    def to_auc(self, case: Case, plain: str, ours: tuple[str, ...]) -> dict[str, Any] | None:
        """The plain side's best validation AUC, and how long each side takes to reach it."""
        found = [self.training(case, plain, ours, seed) for seed in range(case.trainings)]
        trainings = [each for each in found if each is not None]
        if not trainings:
            return None
        return {
            "target": statistics.fmean(each["target"] for each in trainings),
            "plain_layout": plain,
            "seconds": {name: _mean(trainings, name) for name in trainings[0]["seconds"]},
            "trainings": trainings,
        }

    def training(
        self, case: Case, plain: str, ours: tuple[str, ...], seed: int
    ) -> dict[str, Any] | None:
        """One training of each side with one seed; ours until it reaches the plain one's best."""
        budget = 30 if self.quick else 600
        pace = {"budget": budget, "updates": min(20, case.updates) if self.quick else case.updates}
        first = self.ask("curve", case.name, sides=(plain,), seed=seed, **pace)
        if first is None:
            return None
        target = max(first["auc"])
        pace |= {"updates": 3 * case.updates, "target": target, "seed": seed}
        runs = {"plain": first}
        runs |= {side: self.ask("curve", case.name, sides=(side,), **pace) for side in ours}
        seconds = {name: _seconds_to(run, target) for name, run in runs.items()}
        return {"target": target, "seconds": seconds, "curves": runs}


def _mean(trainings: Sequence[dict[str, Any]], side: str) -> float | None:
    """The mean over trainings, ``None`` where one did not get there."""
    seconds = [each["seconds"][side] for each in trainings]
    return None if None in seconds else statistics.fmean(seconds)


def _seconds_to(run: dict[str, Any] | None, target: float) -> float | None:
    if run is None:
        return None
    reached = (at for at, value in zip(run["seconds"], run["auc"], strict=True) if value >= target)
    return next(reached, None)


def fastest_plain(found: dict[str, Any]) -> str | None:
    """The name of the faster layout of the plain side, if it was measured."""
    sides = {name: side["ms"] for name, side in found["sides"].items() if name.startswith("plain")}
    return min(sides, key=sides.__getitem__) if sides else None


def ratio(found: dict[str, Any]) -> float | None:
    """How many times as long the faster plain side takes for a pass."""
    best = fastest_plain(found)
    return found["sides"][best]["ms"] / found["sides"]["ours"]["ms"] if best else None


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few passes, for a look")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"of {', '.join(CASES)}, scaling")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-plain", action="store_true", help="our side only")
    parser.add_argument(
        "--what", choices=("all", "steps", "training"), default="all",
        help="training: to the same AUC; what is not measured stays as it was",
    )  # fmt: skip
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write to")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(given)
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / "speed.json"
    # With --only, what other runs measured stays.
    report = json.loads(path.read_text()) if options.only and path.exists() else {}
    if os.getloadavg()[0] > 0.5:
        print(f"the machine is busy (load {os.getloadavg()[0]:.1f}): times will be too long")
    runner = Runner(options)
    wanted = options.only or [*CASES, "scaling"]
    report |= runner.ask("rates", TINY.name) or {}
    report["date"] = time.strftime("%Y-%m-%d")
    elsewhere = [line for line in report.get("failures", []) if line.split(":")[0] not in wanted]
    for name in wanted:
        if name == "scaling":
            report["scaling"] = scaling(runner)
        else:
            measure_case(runner, find_case(name), report)
        report["failures"] = elsewhere + runner.failures
        _write(path, report)
    finish(report, options.results)


def measure_case(runner: Runner, case: Case, report: dict[str, Any]) -> None:
    """Adds one case to the report."""
    if not case.available():
        print(f"{case.name}: skipped, its files are not on this machine (MASKGAE_DATA)")
        return
    print(case.name, flush=True)
    cases = report.setdefault("cases", {})
    found = runner.case(case, cases.get(case.name, {}))
    if not found:
        return
    cases[case.name] = found
    against = ratio(found)
    beside = f", {against:.1f} times as fast" if against else ""
    print(f"  ours {found['sides']['ours']['ms']:.1f} ms{beside}", flush=True)


def scaling(runner: Runner) -> list[dict[str, Any]]:
    """Time of our step against the size of the graph, in wall and in CPU milliseconds."""
    sizes = (1_000, 2_000) if runner.quick else SCALING_NODES
    found = runner.ask("scaling", TINY.name, sizes=sizes, least=3 if runner.quick else 7)
    if found is None:
        return []
    return [
        {
            "nodes": nodes,
            "pairs": found["pairs"][str(nodes)],
            "load": found["load"],
            **{key: found["sides"][str(nodes)][key] for key in ("ms", "cpu_ms")},
        }
        for nodes in sizes
    ]


def finish(report: dict[str, Any], results: Path) -> None:
    """Chart and pages from the report; the pages only where the results are the project's."""
    from benchmarks import render

    print(render.tables(report)["steps"])
    try:
        from benchmarks.chart import draw
    except ModuleNotFoundError as error:
        print(f"no chart: {error.name} is not installed")
    else:
        draw(render.settled(report), results)
    if results == RESULTS:
        render.main()


def _write(path: Path, report: dict[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(report, indent=1) + "\n")
    partial.replace(path)


if __name__ == "__main__":
    main()
