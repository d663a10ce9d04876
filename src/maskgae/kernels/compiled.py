"""Compiling a loop once for all processes, and sharing its work among threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import torch
from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function as machine code, which lets other threads run beside it.

    It is kept beside the package or, where that cannot be written, in the user's cache folder;
    where neither can be, every process compiles its own.
    """
    return _compiled(function)


def compiled_sums(function: F) -> F:
    """The same where sums may be taken in another order, so that many are taken at a time."""
    return _compiled(function, fastmath={"reassoc", "contract"})


def _compiled(function: F, **how: Any) -> F:
    try:
        kept: F = njit(cache=True, nogil=True, **how)(function)
    except RuntimeError:
        kept = njit(nogil=True, **how)(function)
    return kept


def in_threads(work: Callable[[slice], None], count: int, least: int = 1024) -> None:
    """Does the items 0 to ``count`` in as many shares as there are threads.

    >>> done = []
    >>> in_threads(lambda part: done.append((part.start, part.stop)), 10)
    >>> done
    [(0, 10)]
    """
    shares = max(1, min(torch.get_num_threads(), count // least))
    cuts = [count * share // shares for share in range(shares + 1)]
    parts = [slice(*cut) for cut in pairwise(cuts)]
    if shares == 1:
        work(parts[0])
        return
    with ThreadPoolExecutor(shares) as pool:
        list(pool.map(work, parts))
