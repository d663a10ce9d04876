"""Work that is shared among threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

S = TypeVar("S")
T = TypeVar("T")

#: Items that are worked on at a time, at most: each takes memory of its own.
MOST = 4


def each(work: Callable[[S], T], items: Sequence[S]) -> Iterator[T]:
    """What the work makes of each item, in their order, on torch's threads, :data:`MOST` of them.

    The first item is done alone, so that what all of them need and is made once is there.

    >>> list(each(len, ["a", "bc"]))
    [1, 2]
    """
    threads = min(MOST, torch.get_num_threads())
    if len(items) < 3 or threads == 1:
        yield from map(work, items)
        return
    yield work(items[0])
    with _threads(threads) as pool:
        yield from pool.map(work, items[1:])


def together(work: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """The same of few items that need nothing of each other, all at once.

    >>> together(len, ["a", "bc"])
    [1, 2]
    """
    threads = min(len(items), torch.get_num_threads())
    if threads < 2:
        return [work(item) for item in items]
    with _threads(threads) as pool:
        return list(pool.map(work, items))


@contextmanager
def _threads(count: int) -> Iterator[Executor]:
    """Threads that work alone: teams of them that wait for each other would be too many."""
    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)  # of threads that are yet to come
