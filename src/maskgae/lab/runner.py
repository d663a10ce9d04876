"""The one runner: cells times seeds, in this process or in several, kept on disk where asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache, partial
from typing import Any, TypeVar

from maskgae.data.graph import Graph
from maskgae.datasets.registry import load_dataset
from maskgae.evaluation.method import OnEpoch
from maskgae.evaluation.outcome import Outcome
from maskgae.lab.cell import Cell
from maskgae.lab.protocol import run_seed
from maskgae.lab.record import cell_record
from maskgae.lab.records import Kept, Records
from maskgae.lab.workers import answers

#: A cell, or whatever else is kept.
AnyCell = TypeVar("AnyCell", bound=Kept)
#: Runs a cell on its graph with one seed.
RunSeed = Callable[[Any, Any, int], Outcome]

#: Keeps the graph of the cell that runs and of the one before it.
cached_dataset: Callable[[str], Graph] = lru_cache(maxsize=2)(load_dataset)


def evaluate(
    cell: Cell,
    seeds: Sequence[int],
    *,
    device: str = "cpu",
    on_epoch: Callable[[int], OnEpoch | None] = lambda seed: None,
) -> dict[str, Any]:
    """Independent runs of one cell, one after the other, and their record.

    Args:
        cell: what is run.
        seeds: one run each.
        device: where to compute.
        on_epoch: gives the callback of a seed's run.
    """
    started = time.perf_counter()
    graph = cached_dataset(cell.dataset)
    load_s = time.perf_counter() - started
    runs = [run_seed(cell, graph, seed, device=device, on_epoch=on_epoch(seed)) for seed in seeds]
    return cell_record(cell, runs, load_s)


def graph_of(cell: Cell) -> Graph:
    """The graph of a cell's dataset."""
    return cached_dataset(cell.dataset)


def run_missing(
    tasks: Sequence[tuple[AnyCell, int]],
    records: Records,
    jobs: int = 1,
    run: RunSeed = run_seed,
    load: Callable[[Any], Any] = graph_of,
) -> Iterator[tuple[AnyCell, int]]:
    """Runs what the records lack, yielding each cell and seed as it is done.

    With several jobs each is a process of one thread, so a run's bits do not depend on their
    number. This process alone writes, so nothing does once it is stopped or dead. What has been
    yielded is on disk; stop whenever you like.
    """
    asked = dict.fromkeys(tasks)  # each once, in order
    missing = [(cell, seed) for cell, seed in asked if records.load(cell, seed) is None]
    with closing(answers(partial(_run, run, load), missing, jobs)) as runs:
        for cell, done in runs:
            records.save(cell, done)
            yield cell, done.seed


def _run(
    run: RunSeed, load: Callable[[Any], Any], task: tuple[AnyCell, int]
) -> tuple[AnyCell, Outcome]:
    cell, seed = task
    return cell, run(cell, load(cell), seed)
