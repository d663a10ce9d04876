"""Work shared among processes of one thread each, which end with the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any, TypeVar

import torch
from threadpoolctl import threadpool_limits

from maskgae.base.errors import RunError

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def answers(
    work: Callable[[Item], Answer], items: Sequence[Item], jobs: int = 1
) -> Generator[Answer, None, None]:
    """What ``work`` returns for each item, as it is done; one job is this process itself.

    Processes are killed as soon as the iterator is closed, an exception passes through it, or this
    process dies. So they write no files: that is for the caller, who gets the answers.

    >>> list(answers(abs, [-1, 2]))
    [1, 2]
    """
    if jobs <= 1:
        yield from map(work, items)
        return
    todo = deque(items)
    team: dict[Any, Any] = {}  # the connection to each process
    try:
        for _ in range(min(jobs, len(items))):
            connection, process = _start(work)
            team[connection] = process
            connection.send(todo.popleft())
        while team:
            for connection in wait(list(team)):
                more = bool(todo)
                answer = _exchange(connection, team[connection], todo)
                if not more:
                    _end(connection, team.pop(connection))
                yield answer
    finally:
        for connection, process in team.items():
            _end(connection, process)


def _start(work: Callable[[Any], Any]) -> tuple[Any, Any]:
    """A connection to a new process that answers over it."""
    context = multiprocessing.get_context("spawn")
    connection, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, work), daemon=True)
    process.start()
    theirs.close()  # so that the end of the process is the end of the connection
    return connection, process


def _exchange(connection: Any, process: Any, todo: deque[Any]) -> Any:
    """Takes an answer from a process and gives it the next item, if there is one."""
    try:
        answer, error = connection.recv()
        if error is None and todo:
            connection.send(todo.popleft())
    except (EOFError, OSError):
        process.join(1)
        raise RunError(
            f"one of the processes ended before its work (exit code {process.exitcode}), perhaps "
            "for want of memory: give the command again, with fewer --jobs"
        ) from None
    if error is not None:
        raise error
    return answer


def _end(connection: Any, process: Any) -> None:
    process.kill()
    process.join()
    connection.close()


def _serve(connection: Any, work: Callable[[Any], Any]) -> None:
    """Answers items until the parent kills this process or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which answers
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    threadpool_limits(1)  # NumPy's and SciPy's own threads, which would spin beside the others
    with suppress(EOFError, OSError):
        while True:
            connection.send(_attempt(work, connection.recv()))


def _attempt(work: Callable[[Any], Any], item: Any) -> tuple[Any, Exception | None]:
    try:
        return work(item), None
    except Exception as error:
        error.add_note(traceback.format_exc())  # which is lost on the way
        return None, error


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
