"""Sorting more numbers than memory holds: sorted runs on the disk, read back by ranges of keys.

Keys are collected until there are :data:`RUN` of them, sorted and written as a run. A range of keys
is then one slice of every run, found by binary search, and together they are as small as the range
is narrow. Reading goes through the runs from front to back once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskgae.store.arrays import mapped

#: Keys that are sorted at once, 128 MiB.
RUN = 2**24

# One key in so many stands for its run when ranges are chosen.
_SAMPLED = 2**10

Array = NDArray[Any]


class SortedRuns:
    """Whole numbers with or without a value each, kept as sorted runs in a folder.

    Without values, repeated keys of a run are written once.

    Args:
        folder: where the runs lie; those that are there already are taken up.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = SortedRuns(Path(folder))
    ...     for keys in ([5, 1, 5], [4, 1]):
    ...         runs.add(np.array(keys))
    ...         runs.flush()
    ...     np.concatenate([found for found, _ in runs.ranges(100)])
    array([1, 1, 4, 5])
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._keys: list[Array] = []
        self._values: list[Array] = []
        self._waiting = 0
        self._runs = [self._open(path) for path in sorted(folder.glob("*.keys.npy"))]

    def add(self, keys: Array, values: Array | None = None) -> None:
        """Takes up keys in any order; of equal ones, the first stays the first."""
        for start in range(0, keys.size, RUN):
            part = slice(start, start + RUN)
            self._keys.append(keys[part])
            if values is not None:
                self._values.append(values[part])
            self._waiting += self._keys[-1].size
            if self._waiting >= RUN:
                self.flush()

    def flush(self) -> None:
        """Writes what is waiting as a run."""
        if not self._waiting:
            return
        keys, values = _sorted(self._keys, self._values)
        self._keys, self._values, self._waiting = [], [], 0
        path = self.folder / f"{len(self._runs):06}.keys.npy"
        if values is not None:
            np.save(_values_path(path), values, allow_pickle=False)
        np.save(path, keys, allow_pickle=False)
        self._runs.append(self._open(path))

    def between(self, low: int, high: int) -> tuple[Array, Array | None]:
        """The sorted keys from ``low`` to below ``high``, and their values where there are any."""
        keys, values = [], []
        for run_keys, run_values in self._runs:
            start, stop = np.searchsorted(run_keys, (low, high))
            keys.append(np.array(run_keys[start:stop]))
            if run_values is not None:
                values.append(np.array(run_values[start:stop]))
        return _sorted(keys, values, unique=False)

    def ranges(self, size: int, align: int = 1) -> Iterator[tuple[Array, Array | None]]:
        """All keys, ascending, in parts of about ``size``.

        Args:
            size: keys of one part.
            align: no part begins within ``align`` numbers that share their quotient by it.
        """
        samples = np.sort(np.concatenate([[0], *(keys[::_SAMPLED] for keys, _ in self._runs)]))
        cuts = samples[:: max(1, size // _SAMPLED)].astype(np.int64)
        cuts = np.unique(np.append(cuts // align * align, np.iinfo(np.int64).max))
        for low, high in pairwise(cuts.tolist()):
            yield self.between(low, high)

    def _open(self, path: Path) -> tuple[Array, Array | None]:
        values = _values_path(path)
        return mapped(path), mapped(values) if values.exists() else None


def _values_path(path: Path) -> Path:
    return path.with_name(path.name.replace(".keys.", ".values."))


def _sorted(
    keys: list[Array], values: list[Array], *, unique: bool = True
) -> tuple[Array, Array | None]:
    joined = np.concatenate([np.empty(0, np.int64), *keys])
    if values:
        order = np.argsort(joined, kind="stable")
        return joined[order], np.concatenate(values)[order]
    joined.sort()
    if unique:
        joined = joined[np.diff(joined, prepend=-1) > 0]
    return joined, None
