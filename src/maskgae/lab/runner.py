"""The one runner: cells times seeds, in this process or in several, kept on disk where asked."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from maskgae.base.files import write_json
from maskgae.base.settings import APART
from maskgae.data.graph import Graph
from maskgae.datasets.registry import load_dataset
from maskgae.evaluation.method import Listener
from maskgae.evaluation.outcome import Outcome
from maskgae.lab.cell import Cell
from maskgae.lab.protocol import run_seed
from maskgae.lab.record import cell_record
from maskgae.lab.workers import answers

#: Runs a cell on its graph with one seed.
RunSeed = Callable[[Cell, Graph, int], Outcome]

#: Keeps the graph of the cell that runs and of the one before it.
cached_dataset: Callable[[str], Graph] = lru_cache(maxsize=2)(load_dataset)


def evaluate(
    cell: Cell,
    seeds: Sequence[int],
    *,
    device: str = "cpu",
    listener: Callable[[int], Listener | None] = lambda seed: None,
) -> dict[str, Any]:
    """Independent runs of one cell, one after the other, and their record."""
    started = time.perf_counter()
    graph = cached_dataset(cell.dataset)
    load_s = time.perf_counter() - started
    runs = [run_seed(cell, graph, seed, device=device, listener=listener(seed)) for seed in seeds]
    return cell_record(cell, runs, load_s)


@dataclass(frozen=True)
class Store:
    """A folder with one JSON document for each cell and seed."""

    folder: Path

    def path(self, cell: Cell, seed: int) -> Path:
        name = f"{cell.method}-{cell.settings.mask.kind}-{cell.digest()}"
        return self.folder / cell.task / cell.dataset / name / f"{seed}.json"

    def load(self, cell: Cell, seed: int) -> Outcome | None:
        """A kept run, or ``None`` where there is none that these settings would repeat."""
        path = self.path(cell, seed)
        if not path.exists():
            return None
        document = json.loads(path.read_text())
        if not _same_settings(document["cell"]["settings"], cell):
            return None
        return Outcome(**{item.name: document[item.name] for item in dataclasses.fields(Outcome)})

    def save(self, cell: Cell, run: Outcome) -> None:
        document = dataclasses.asdict(run)
        document["cell"] = {
            "task": cell.task,
            "dataset": cell.dataset,
            "method": cell.method,
            "preset": cell.preset,
            "settings": cell.flat(),
        }
        write_json(self.path(cell, run.seed), document)

    def record(self, cell: Cell, seeds: Sequence[int]) -> dict[str, Any] | None:
        """The record of the seeds that are there, or ``None`` if none is."""
        runs = [run for seed in seeds if (run := self.load(cell, seed)) is not None]
        return cell_record(cell, runs) if runs else None


def _same_settings(kept: dict[str, Any], cell: Cell) -> bool:
    """Whether a kept run had these settings; one that it does not know was at its default.

    One that is gone since then was at its default too: otherwise it would be in the digest.
    """
    own, defaults = json.loads(json.dumps(cell.flat())), cell.defaults()
    shared = (key for key in kept if key in own and key not in APART)
    known = all(own[key] == kept[key] for key in shared)
    new = (key for key in own if key not in kept)
    return known and all(own[key] == json.loads(json.dumps(defaults[key])) for key in new)


def run_missing(
    tasks: Sequence[tuple[Cell, int]],
    store: Store,
    jobs: int = 1,
    run: RunSeed = run_seed,
) -> Iterator[tuple[Cell, int]]:
    """Runs what the store lacks, yielding each cell and seed as it is done.

    With several jobs each is a process of one thread, so a run's bits do not depend on their
    number. This process alone writes, so nothing does once it is stopped or dead. What has been
    yielded is on disk; stop whenever you like.
    """
    asked = dict.fromkeys(tasks)  # each once, in order
    missing = [(cell, seed) for cell, seed in asked if store.load(cell, seed) is None]
    with closing(answers(partial(_run, run), missing, jobs)) as runs:
        for cell, done in runs:
            store.save(cell, done)
            yield cell, done.seed


def _run(
    run: Callable[[Cell, Graph, int], Outcome], task: tuple[Cell, int]
) -> tuple[Cell, Outcome]:
    cell, seed = task
    return cell, run(cell, cached_dataset(cell.dataset), seed)
