"""An entry: one contestant on one graph, and what comes out of its run with one seed."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from maskgae.evaluation.audit import audit_split
from maskgae.evaluation.outcome import Outcome, forget_peak, peak_rss_mb
from maskgae.lab.contest.contestants import contestant
from maskgae.lab.contest.exam import exam_of
from maskgae.lab.contest.graphs import Arena, graph_name, load_arena

TASK, VALIDATION = "contest", "contest/validation"
#: Seconds after which a run is stopped, and kept as one that took too long.
MOST_SECONDS = 40 * 60


@dataclass(frozen=True, eq=False)
class Entry:
    """What is run, but for the seed.

    Args:
        dataset: what the graph is called.
        method: a name of :data:`~maskgae.lab.contest.contestants.CONTESTANTS`.
        settings: everything that decides what it learns.
        place: where the graph is; not kept.
        task: whether the test is looked at, or edges before it: :data:`TASK`, :data:`VALIDATION`.
        given: what ``fit`` is given on top of what suits the graph, where a setting is tried.
    """

    dataset: str
    method: str
    settings: Mapping[str, Any]
    place: str
    task: str = TASK
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return " ".join([self.task, self.dataset, self.method, *map(str, self.given.values())])

    def about(self) -> dict[str, Any]:
        """What a record's line says of it."""
        names = ("task", "dataset", "method", "settings", *(("given",) if self.given else ()))
        return {name: getattr(self, name) for name in names}

    def digest(self) -> str:
        parts = [self.task, self.dataset, self.method, self.settings]
        text = json.dumps([*parts, self.given] if self.given else parts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def entries(
    place: str,
    methods: Sequence[str],
    validation: bool = False,
    given: Mapping[str, Any] | None = None,
) -> list[Entry]:
    """The entries of contestants that can take part on a graph, with settings that are tried."""
    graph, name = load_arena(place).graph, graph_name(place)
    task, tried = VALIDATION if validation else TASK, dict(given or {})
    return [
        Entry(name, each, taking.resolved(graph), place, task, tried)
        for each in methods
        if (taking := contestant(each, tried)).possible(graph)
    ]


def arena_of(entry: Entry) -> Arena:
    return load_arena(entry.place)


def run_entry(entry: Entry, arena: Arena, seed: int) -> Outcome:
    """Lets a contestant learn from a seed's split and grades its answers."""
    exam = exam_of(arena, seed, entry.task == VALIDATION)
    audit = audit_split(exam.graph, exam.split)
    forget_peak()
    started = time.perf_counter()
    try:
        with time_limit(MOST_SECONDS):
            taking = contestant(entry.method, entry.given)
            entered = taking.enter(exam, exam.stream.at(entry.method))
    except TimeoutError:
        return Outcome(seed, {}, {}, audit, {"stopped_after_s": MOST_SECONDS})
    learnt, peak = time.perf_counter(), peak_rss_mb()
    metrics = {**exam.grades(entered.scores), **exam.probed(entered.embedding)}
    beside = {name: exam.grades(scores) for name, scores in entered.beside.items()}
    times = {"train": learnt - started, "evaluate": time.perf_counter() - learnt}
    return Outcome(seed, metrics, beside, audit, entered.facts, times, peak)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises ``TimeoutError`` in here after so many seconds, where the system has an alarm."""
    if not hasattr(signal, "SIGALRM"):  # on Windows
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise TimeoutError(f"took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
