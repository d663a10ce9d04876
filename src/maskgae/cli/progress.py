"""A fit as the user sees it: what was read, a bar or a heartbeat, what came out, how long."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from maskgae.cli import screen
from maskgae.cli.signals import Signals, resume_command
from maskgae.run import Callback, Plan, Run, Source
from maskgae.run.gains import gains

#: What the parts of a fit are called when it tells how long they took.
PARTS = {"reading": "reading", "training": "training", "scoring": "scoring", "page": "page"}
#: Seconds between two lines of a training run where there is no terminal to draw a bar on.
HEARTBEAT = 30.0


class FitProgress(Callback):
    """Shows a fit on the terminal, and takes its signals.

    Args:
        quiet: whether to print results only.
        tasks: whose figures are shown in the end.
    """

    def __init__(self, quiet: bool, tasks: Sequence[str] = ("link", "node")) -> None:
        self.quiet, self.tasks, self.signals = quiet, tasks, Signals()
        self.part, self.since = "reading", time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.epochs, self._beat = 0, time.monotonic()
        self._stack = ExitStack()
        self._bar: screen.TrainingProgress | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """The time in which signals are caught and a bar may be drawn."""
        with self._stack, self.signals.watched():
            yield

    def wants_stop(self) -> bool:
        return self.signals.asked_to_stop()

    def stopped(self, error: Exception) -> int:
        """Says where a fit was stopped and how to go on; the exit code."""
        screen.notice(f"{error}; to go on:")
        screen.err.print(resume_command(), soft_wrap=True, markup=False)
        return 128 + self.signals.received

    def on_notice(self, text: str) -> None:
        screen.notice(text)

    def on_plan(self, source: Source, plan: Plan) -> None:
        settings = plan.settings
        self.epochs = 0 if settings.encoder.kind == "none" else settings.training.epochs
        if not self.quiet:
            screen.show_source(source, plan)

    def on_part(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[self.part] = self.seconds.get(self.part, 0.0) + now - self.since
        self.since = now
        self.part = name if name in PARTS else "scoring"
        if name == "training" and self.epochs:
            progress = self._stack.enter_context(screen.training_progress(self.quiet))
            if progress is not None:
                self._bar = screen.TrainingProgress(progress, "training", self.epochs)
        elif self._bar is not None:
            self._bar.close()
            self._bar = None

    def on_epoch(self, row: Mapping[str, Any]) -> None:
        if self._bar is not None:
            self._bar(row)
        elif not self.quiet and time.monotonic() - self._beat > HEARTBEAT:
            self._beat = time.monotonic()
            screen.err.print(
                f"epoch {row['epoch'] + 1:,} of at most {self.epochs:,}, loss {row['loss']:.3f}"
            )

    def on_end(self, run: Run) -> None:
        if not run.record or run.folder is None:
            return
        folder = screen.plain(run.folder)
        if not self.seconds:
            screen.out.print(f"{folder} is complete: nothing to do", soft_wrap=True)
            return
        self.on_part("end")
        rate = run.record["facts"].get("pairs_per_s")
        if not self.quiet and rate is not None:
            screen.out.print(f"trained on {rate:,.0f} edges per second", soft_wrap=True)
        if run.metrics:
            screen.show_record(run.record, self.tasks, self.seconds)
        for line in (*gains(run.record), *_unfinished(run)):
            screen.sentence(line)
        page = screen.plain(run.folder / "report.html")
        screen.out.print(f"run folder: {folder} · the page: {page}", soft_wrap=True)


def _unfinished(run: Run) -> Iterator[str]:
    """Says where the limit of epochs ended what validation still liked, and how to go on."""
    facts, folder = run.record["facts"], screen.plain(run.folder)
    epochs = facts.get("epochs")
    if facts.get("stopped") != "epochs" or epochs != facts.get("best_epoch"):
        return
    if run.settings.training.select == "last":
        return
    yield (
        f"stopped by the limit of {epochs:,} epochs at its best one: more may be better; to go on, "
        f"fit with --from {folder} --out NEW, or begin with --set training.epochs={2 * epochs}"
    )
