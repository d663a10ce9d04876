"""A rank that hangs is noticed by the others, who would wait for it for hours.

Each rank counts up a number of its own in the store of all ranks, and looks whether those of the
others move. It counts its own beats and reads no clock, so a process that was stopped as a whole,
or a clock that jumps, is no alarm.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Seconds between two beats, and beats of its own after which a rank gives up another: ten minutes,
#: as some sparse products of large graphs let no other thread run.
SECONDS, PATIENCE = 5.0, 120


@contextmanager
def heartbeat(store: Any, rank: int, world: int, on_lost: Callable[[str], None]) -> Iterator[None]:
    """Beats while the block runs; ends this process where another rank does so no more.

    Args:
        store: the store of ``torch.distributed`` that the ranks have met by.
        rank: this rank.
        world: the number of ranks.
        on_lost: told, in a line, why the process ends.
    """
    left = threading.Event()
    others = [other for other in range(world) if other != rank]
    arguments = (store, rank, others, left, on_lost)
    thread = threading.Thread(target=_beat, args=arguments, daemon=True)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join(SECONDS)


def _beat(
    store: Any,
    rank: int,
    others: list[int],
    left: threading.Event,
    on_lost: Callable[[str], None],
) -> None:
    seen, silent = dict.fromkeys(others, -1), dict.fromkeys(others, 0)
    try:
        while not left.wait(SECONDS):
            store.add(f"beats/{rank}", 1)
            for other in others:
                count = store.add(f"beats/{other}", 0)
                same = count == seen[other] and not store.add(f"left/{other}", 0)
                seen[other], silent[other] = count, silent[other] + 1 if same else 0
                if silent[other] >= PATIENCE:
                    _end(other, on_lost)
        store.add(f"left/{rank}", 1)
    except RuntimeError:  # the store is gone, and with it torchrun
        return


def _end(other: int, on_lost: Callable[[str], None]) -> None:
    """Ends the process from here: the main thread waits in native code, which nothing wakes."""
    minutes = SECONDS * PATIENCE / 60
    on_lost(
        f"rank {other} has not moved for {minutes:.0f} minutes: this rank ends; torchrun "
        "--max-restarts goes on from the last checkpoint, and so does the same command with "
        "--resume"
    )
    os._exit(1)
