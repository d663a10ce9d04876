"""SIGINT and SIGTERM while a training runs, or a whole table of them."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from maskgae.cli import screen


class Signals:
    """Turns the first signal into a question's answer; a second SIGINT stops at once.

    Args:
        at_once: whether any signal stops at once.

    Attributes:
        received: the number of the first signal, 0 while there was none.
    """

    def __init__(self, at_once: bool = False) -> None:
        self.at_once = at_once
        self.received = 0

    def asked_to_stop(self) -> bool:
        return self.received != 0

    @contextmanager
    def watched(self, active: bool = True) -> Iterator[None]:
        """Catches signals inside where asked to, in the main thread, which alone may."""
        if not active or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self._hear) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _hear(self, number: int, frame: Any) -> None:
        again = self.received and number == signal.SIGINT
        self.received = self.received or number
        if self.at_once or again:
            raise KeyboardInterrupt


@contextmanager
def stopped_at_once() -> Iterator[None]:
    """Work that a signal stops wherever it is, with the exit code 130 or 143."""
    signals = Signals(at_once=True)
    try:
        with signals.watched():
            yield
    except KeyboardInterrupt:
        screen.notice("interrupted; the same command goes on")
        raise typer.Exit(128 + (signals.received or signal.SIGINT)) from None


def resume_command() -> str:
    """The command line that goes on where this one stops."""
    given = [word for word in sys.argv[1:] if word not in ("--force", "--resume")]
    return shlex.join(["maskgae", *given, "--resume"])
