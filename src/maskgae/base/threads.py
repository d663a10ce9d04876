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
    threads = min(MOST, torch.get_num_threads())
    if len(items) < 3 or threads == 1:
        yield from map(work, items)
        return
    yield work(items[0])
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, items[1:])
