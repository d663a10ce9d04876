"""How much is worked on at a time, so that it stays in a cache or in some memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Numbers that stay in a core's cache, 4 MiB in float32, and pairs of which each takes several.
CACHE_NUMBERS, CACHE_PAIRS = 2**20, 2**16
#: Numbers, pairs, and entries of sparse rows that take some tens of megabytes.
CHUNK_NUMBERS, CHUNK_PAIRS, CHUNK_ENTRIES = 2**22, 2**22, 2**21
#: Rows of a table, and bytes of a file, that are read together.
READ_ROWS, READ_BYTES = 2**20, 2**20


def spans(sizes: NDArray[Any], most: int) -> Iterator[slice]:
    """Cuts a row of items into slices that hold about ``most`` each, or a single item.

    >>> [(part.start, part.stop) for part in spans(np.array([2, 2, 2, 9, 1, 1]), 5)]
    [(0, 2), (2, 3), (3, 6)]
    """
    part = np.cumsum(sizes, dtype=np.int64) // max(1, most)
    starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
    for start, stop in pairwise([*starts, part.size]):
        yield slice(start, stop)
