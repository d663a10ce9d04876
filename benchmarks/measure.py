"""One measurement in a process of its own: ``python -m benchmarks.measure TASK CASE [OPTIONS]``.

``benchmarks.speed`` starts these, so that no measurement sees another one's heap, and so that the
peak memory of a process is the peak memory of one side. The answer is a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks import machine
from benchmarks.cases import Case, find_case
from benchmarks.parts import INSIDE, STAGES, timed_parts
from benchmarks.plain import BATCH
from benchmarks.roofline import count_step
from benchmarks.sides import Curve, Ours, Pass, make_side
from maskgae.base.rng import stream
from maskgae.base.settings import TrainingConfig
from maskgae.data.features import SparseFeatures
from maskgae.data.graph import Graph
from maskgae.training.loop import Trainer
from maskgae.training.steps import Steps

Answer = dict[str, Any]


def shape(case: Case, graph: Graph) -> Answer:
    """What the graph is like, and how many targets a pass has."""
    assert graph.features is not None
    sparse = graph.features if isinstance(graph.features, SparseFeatures) else None
    masked = Steps(graph, case.settings, stream(0, "benchmark")).mask(0)
    return {
        "nodes": graph.num_nodes,
        "pairs": graph.num_pairs,
        "features": graph.features.num_columns,
        "density": sparse.density if sparse else 1.0,
        "targets": masked.targets.numel(),
    }


def steps(case: Case, options: argparse.Namespace) -> Answer:
    """Times passes of several sides in turn: A B A B ..., after a warm-up of each."""
    graph, validation = case.data()
    facts = shape(case, graph)
    sides = {
        name: make_side(name, case, graph, validation)
        for name in options.sides
        if name != "ours-batched" or facts["targets"] > BATCH
    }
    passes: dict[str, list[Pass]] = {name: [] for name in sides}
    for side in sides.values():
        side.run(limit=0.0)
        if isinstance(side, Ours):
            side.run()
    started = time.perf_counter()
    while not _measured_enough(passes, time.perf_counter() - started, options):
        for name, side in sides.items():
            passes[name].append(side.run(options.limit))
    return facts | {"load": os.getloadavg()[0], "sides": _summaries(passes)}


def _measured_enough(
    passes: dict[str, list[Pass]], spent: float, options: argparse.Namespace
) -> bool:
    rounds = min(map(len, passes.values()))
    return rounds >= options.most or (rounds >= options.least and spent > options.budget)


def _summaries(passes: dict[str, list[Pass]]) -> Answer:
    return {
        name: {
            "ms": 1e3 * statistics.median(run.wall for run in runs),
            "cpu_ms": 1e3 * statistics.median(run.cpu for run in runs),
            "all_ms": [round(1e3 * run.wall, 3) for run in runs],
            "updates": runs[0].of,
            "updates_timed": min(run.updates for run in runs),
        }
        for name, runs in passes.items()
    }


def curve(case: Case, options: argparse.Namespace) -> Answer:
    """Trains one side; the plain one for a budget, ours until it reaches a target."""
    graph, validation = case.data()
    side = make_side(options.sides[0], case, graph, validation, options.seed)
    started = time.perf_counter()

    def enough(drawn: Curve) -> bool:
        late = time.perf_counter() - started > options.budget
        reached = options.target and drawn.auc[-1] >= options.target
        return bool(late or reached or drawn.updates[-1] >= options.updates)

    return asdict(side.curve(options.every or case.eval_every, enough))


def memory(case: Case, options: argparse.Namespace) -> Answer:
    """Peak memory of a process that loads the graph and trains one side for some passes."""
    graph, validation = case.data()
    loaded = _peak()
    side = make_side(options.sides[0], case, graph, validation)
    for _ in range(options.least):
        side.run(limit=options.limit)
    return {"peak_mb": _peak(), "loaded_mb": loaded}


def scaling(case: Case, options: argparse.Namespace) -> Answer:
    """Passes of our side on graphs of several sizes in turn, so that all see the same machine."""
    sides: dict[str, Ours] = {}
    for nodes in options.sizes:
        sized = find_case(f"scale-{nodes}")
        sides[str(nodes)] = Ours(sized, *sized.data(), batch_pairs=0)
    passes: dict[str, list[Pass]] = {nodes: [] for nodes in sides}
    for warm in range(options.least + 1):
        for nodes, side in sides.items():
            taken = side.run()
            if warm:
                passes[nodes].append(taken)
    pairs = {nodes: side.trainer.graph.num_pairs for nodes, side in sides.items()}
    return {"load": os.getloadavg()[0], "pairs": pairs, "sides": _summaries(passes)}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def parts(case: Case, options: argparse.Namespace) -> Answer:
    """Milliseconds of each stage of our step, with the default validation every ten epochs."""
    graph, validation = case.data()
    trainer = Ours(case, graph, validation, batch_pairs=0).trainer
    trainer.config = replace(trainer.config, eval_every=TrainingConfig().eval_every)
    trainer._epoch()
    answer: Answer = {"epochs": options.least}
    for key, targets in (("stages", STAGES), ("inside", INSIDE)):
        with timed_parts(targets) as timer:
            wall = _epochs(trainer, options.least)
        found = {name: 1e3 * timer.seconds[name] / options.least for name in targets}
        answer[key] = found | {"rest": 1e3 * wall / options.least - sum(found.values())}
    return answer


def _epochs(trainer: Trainer, count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        trainer._epoch()
    return time.perf_counter() - started


def roofline(case: Case, options: argparse.Namespace) -> Answer:
    """The least work of a step by stage."""
    graph, _ = case.data()
    return {stage: asdict(work) for stage, work in count_step(graph, case.settings).items()}


def rates(case: Case, options: argparse.Namespace) -> Answer:
    """What the machine gives."""
    return {"machine": machine.describe(), "rates": machine.rates(options.quick)}


TASKS: dict[str, Callable[[Case, argparse.Namespace], Answer]] = {
    task.__name__: task for task in (steps, curve, memory, scaling, parts, roofline, rates)
}


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(description=__doc__)
    out.add_argument("task", choices=TASKS)
    out.add_argument("case")
    out.add_argument("--sides", nargs="+", default=["ours"])
    out.add_argument("--sizes", nargs="+", type=int, default=[], help="nodes of generated graphs")
    out.add_argument("--least", type=int, default=5, help="passes of each side, at least")
    out.add_argument("--most", type=int, default=50, help="passes of each side, at most")
    out.add_argument("--budget", type=float, default=60, help="seconds, once there are enough")
    out.add_argument("--limit", type=float, default=60, help="seconds of one pass of a plain side")
    out.add_argument("--updates", type=int, default=500, help="of a training towards an AUC")
    out.add_argument("--every", type=int, default=0, help="updates between two validations")
    out.add_argument("--target", type=float, default=0, help="validation AUC to reach")
    out.add_argument("--seed", type=int, default=0, help="of a training towards an AUC")
    out.add_argument("--threads", type=int, default=1)
    out.add_argument("--quick", action="store_true")
    out.add_argument("--out", type=Path, help="where to write the answer, else it is printed")
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    torch.set_num_threads(options.threads)
    answer = json.dumps(TASKS[options.task](find_case(options.case), options))
    if options.out:
        options.out.write_text(answer)
    else:
        print(answer)


if __name__ == "__main__":
    main()
