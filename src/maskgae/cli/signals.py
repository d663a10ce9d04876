"""SIGINT and SIGTERM while a training runs."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Signals:
    """Turns the first signal into a question's answer; a second SIGINT stops at once.

    Attributes:
        received: the number of the first signal, 0 while there was none.
    """

    def __init__(self) -> None:
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
        if self.received and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = self.received or number


def resume_command() -> str:
    """The command line that goes on where this one stops."""
    given = [word for word in sys.argv[1:] if word not in ("--force", "--resume")]
    return shlex.join(["maskgae", *given, "--resume"])
