"""One wait of :mod:`benchmarks.waits`, in a process of its own that imports nothing before it must.

``python -m benchmarks.wait WAY STORE --started SECONDS --threads N --out FILE``
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Commands of the package; the first is a quick one that finds no loop compiled.
OURS = ("first", "quick", "fit")

Answer = dict[str, Any]


class Clock:
    """Wall and processor seconds of parts that follow each other, from the process's start on."""

    def __init__(self, started: float) -> None:
        self.parts: dict[str, list[float]] = {}
        self._name, self._at = "start", (started, 0.0)

    def part(self, name: str) -> None:
        """Ends one part and begins another; what comes twice adds up."""
        now = (time.time(), time.process_time())
        known = self.parts.get(self._name, [0.0, 0.0])
        spent = [end - begin for end, begin in zip(now, self._at, strict=True)]
        self.parts[self._name] = [a + b for a, b in zip(known, spent, strict=True)]
        self._name, self._at = name, now


def ours(way: str, store: str, clock: Clock) -> Answer:
    """A fit with its folder."""
    from maskgae import fit, read
    from maskgae.run.callbacks import Callback

    class Marks(Callback):
        def on_part(self, name: str) -> None:
            clock.part(name)

    clock.part("reading")
    source = read(store)
    with tempfile.TemporaryDirectory() as folder:
        run = fit(source, quick=way != "fit", folder=Path(folder) / "run", callbacks=[Marks()])
    return {**run.metrics, "epochs": len(run.history)}


def other(way: str, store: str, clock: Clock) -> Answer:
    """An alternative on the split of ``fit``, asked what ``fit`` asks itself."""
    from maskgae import read
    from maskgae.evaluation.metrics import link_metrics
    from maskgae.evaluation.ranking import full_ranking
    from maskgae.lab.contest.exam import exam_of
    from maskgae.lab.contest.graphs import Arena

    clock.part("reading")
    exam = exam_of(Arena(read(store).graph), 0, False)
    clock.part("training")
    learnt = _gae(exam) if way == "gae" else _embedding(way, exam)
    clock.part("scoring")
    scores = learnt()
    sides = (exam.split.test, exam.split.test_negatives)
    found = link_metrics(*(scores.pairs(pairs).double().numpy() for pairs in sides))
    ranking = exam.stream.at("ranking")
    return found | full_ranking(scores.rows, exam.split.test, exam.graph, ranking).metrics()


def _embedding(way: str, exam: Any) -> Callable[[], Any]:
    from maskgae.lab.contest import embeddings
    from maskgae.lab.contest.products import best_products

    learn = {"svd": embeddings.svd_embedding, "node2vec": embeddings.node2vec_embedding}[way]
    found = learn(exam.train, exam.stream.at("embedding"))
    return lambda: best_products(found, exam, exam.stream.at("scorer"))[0]


def _gae(exam: Any) -> Callable[[], Any]:
    from maskgae.base.settings import Settings
    from maskgae.evaluation.method import Validation, opened
    from maskgae.lab import METHODS
    from maskgae.run.task import prepared

    task = prepared(exam.graph, Settings(), exam.split)
    validation = Validation(exam.split.val, exam.split.val_negatives)
    fitted: Any = METHODS["gae"](Settings(), "cpu").fit(task.train, validation, exam.stream)
    return lambda: opened(fitted, task.train)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=(*OURS, "svd", "node2vec", "gae"))
    parser.add_argument("store")
    parser.add_argument("--started", type=float, required=True, help="when the process was started")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    clock = Clock(options.started)
    import torch

    torch.set_num_threads(options.threads)
    asked = ours if options.way in OURS else other
    metrics = asked(options.way, options.store, clock)
    clock.part("end")
    spent = [sum(part[i] for part in clock.parts.values()) for i in (0, 1)]
    answer = {"wall_s": spent[0], "cpu_s": spent[1], "parts": clock.parts, "metrics": metrics}
    options.out.write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
