"""How often a command changes rooms: the plan of the house, as its functions are first called.

``python -m benchmarks.rooms fit EDGES --out RUN`` runs any command of ``maskgae`` and prints the
rooms in the order in which it enters them. A room is the first folder or file below the package;
a function counts once, at its first call.
"""

from __future__ import annotations

import sys
from collections import Counter
from inspect import CO_OPTIMIZED
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import maskgae

SOURCE = str(Path(maskgae.__file__).parent) + "/"


class Tracer:
    """Notes the room of each function of the package when it is first called."""

    def __init__(self) -> None:
        self.seen: set[CodeType] = set()
        self.rooms: list[str] = []

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code in self.seen or not code.co_filename.startswith(SOURCE):
            return
        self.seen.add(code)
        if code.co_flags & CO_OPTIMIZED:  # the body of a module or class is no function
            self.rooms.append(code.co_filename.removeprefix(SOURCE).split("/")[0])

    @property
    def changes(self) -> int:
        return sum(before != after for before, after in pairwise(self.rooms))


def main(words: list[str]) -> None:
    """Traces a command, and says what it went through."""
    tracer = Tracer()
    sys.argv = ["maskgae", *words]
    sys.setprofile(tracer)
    try:
        from maskgae.cli import main as command

        command()
    except SystemExit as ended:
        if ended.code:
            raise
    finally:
        sys.setprofile(None)
    print(f"{len(tracer.rooms):,} functions, {tracer.changes:,} changes of room")
    for name, count in Counter(tracer.rooms).most_common():
        print(f"{count:5,} functions of {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
