"""How much is worked on at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def spans(sizes: NDArray[Any], most: int) -> Iterator[slice]:
    """Cuts a row of items into slices that hold about ``most`` each, or a single item.

    >>> [(part.start, part.stop) for part in spans(np.array([2, 2, 2, 9, 1, 1]), 5)]
    [(0, 2), (2, 3), (3, 6)]
    """
    part = np.cumsum(sizes, dtype=np.int64) // max(1, most)
    starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
    for start, stop in pairwise([*starts, part.size]):
        yield slice(start, stop)
