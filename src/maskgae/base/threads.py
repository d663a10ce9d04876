"""Work that is shared among threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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
    before = torch.get_num_threads()
    threads = min(MOST, before)
    if len(items) < 3 or threads == 1:
        yield from map(work, items)
        return
    yield work(items[0])
    try:
        # Each of them alone: teams of threads that wait for each other would be too many.
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(work, items[1:])
    finally:
        torch.set_num_threads(before)  # of threads that are yet to come
