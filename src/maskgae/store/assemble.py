r"""From sorted keys to the arrays of a store, part by part.

A key is :math:`2 (u N + v) + d` for a pair :math:`u < v`, with :math:`d = 1` where the edge was
written from :math:`v` to :math:`u`. So the two directions of a pair stand side by side.

The row of a node holds its smaller neighbours and then its larger ones. The larger ones of a range
of rows are a slice of the sorted pairs; the smaller ones are a slice of the pairs sorted by their
other end, which are therefore sorted once more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskgae.base.errors import InputError
from maskgae.base.sizes import CHUNK_PAIRS, spans
from maskgae.store.arrays import array_file, mapped
from maskgae.store.sorting import SortedRuns

Array = NDArray[Any]


def index_type(count: int) -> np.dtype[Any]:
    """32 bits where numbers below ``count`` fit."""
    return np.dtype(np.int32 if count < 2**31 else np.int64)


def directed_keys(u: Array, v: Array, num_nodes: int) -> Array:
    """One number a directed edge, of which the pair is all but the last bit."""
    low, high = np.minimum(u, v), np.maximum(u, v)
    return 2 * (low * np.int64(num_nodes) + high) + (u > v)


def write_pairs(
    runs: SortedRuns, out: Path, work: Path, num_nodes: int, weighted: bool, ways: bool = False
) -> dict[str, Any]:
    """Merges sorted keys to ``pairs.npy``; counts pairs and directed edges.

    Beside them come ``weights.npy`` and ``directions.npy``, where they are wanted.
    """
    check_size(num_nodes)
    kind, directed = index_type(num_nodes), 0
    with (
        array_file(out / "pairs.npy", kind) as pairs,
        array_file(work / "high.npy", kind) as high,
        array_file(out / "weights.npy" if weighted else work / "weights.npy", "f4") as weights,
        array_file(out / "directions.npy" if ways else work / "directions.npy", "i4") as directions,
    ):
        for keys, values in runs.ranges(CHUNK_PAIRS, align=2):
            directed += int(np.count_nonzero(np.diff(keys, prepend=-1)))
            both = keys >> 1
            first = np.diff(both, prepend=-1) > 0
            unique = both[first]
            pairs.append(unique // num_nodes)
            high.append(unique % num_nodes)
            if ways:
                bits = np.zeros(unique.size, dtype=np.int32)
                np.bitwise_or.at(bits, np.cumsum(first) - 1, 1 << (keys & 1).astype(np.int32))
                directions.append(bits)
            if values is not None:
                summed = np.bincount(np.cumsum(first) - 1, values, unique.size)
                weights.append(summed.astype(np.float32))
        count = pairs.count
        for block in high.blocks():
            pairs.append(block)
        pairs.shape = (2, count)
    return {"num_pairs": count, "directed": directed}


def write_rows(runs: SortedRuns, out: Path, num_nodes: int, num_pairs: int) -> dict[str, Any]:
    """Writes both directions of every pair by row; counts the nodes without any."""
    pairs = mapped(out / "pairs.npy")
    # Neighbours of each node that are smaller and larger than itself.
    smaller, larger = np.zeros((2, num_nodes), dtype=np.int64)
    for start in range(0, num_pairs, CHUNK_PAIRS):
        low, high = np.array(pairs[:, start : start + CHUNK_PAIRS], dtype=np.int64)
        runs.add(high * num_nodes + low, np.arange(start, start + low.size))
        larger += np.bincount(low, minlength=num_nodes)
        smaller += np.bincount(high, minlength=num_nodes)
    runs.flush()
    indptr, first_pair = _running(smaller + larger), _running(larger)
    with array_file(out / "indptr.npy", np.int64) as file:
        file.append(indptr)
    with (
        array_file(out / "indices.npy", index_type(num_nodes)) as indices,
        array_file(out / "pair_of_entry.npy", index_type(num_pairs)) as pair_of_entry,
    ):
        for rows in spans(smaller + larger, CHUNK_PAIRS):
            start, stop = rows.start, rows.stop
            above = slice(first_pair[start], first_pair[stop])
            keys, below = runs.between(start * num_nodes, stop * num_nodes)
            place = _places(smaller[start:stop], larger[start:stop])
            for file, first, then in (
                (indices, keys % num_nodes, pairs[1, above]),
                (pair_of_entry, [] if below is None else below, np.arange(above.start, above.stop)),
            ):
                entries = np.empty(place.size, file.dtype)
                entries[place] = np.concatenate([first, then])
                file.append(entries)
    return {"isolated": int(np.count_nonzero(np.diff(indptr) == 0))}


def _places(smaller: Array, larger: Array) -> Array:
    """Where the smaller neighbours of all rows, and then the larger ones, stand among the entries.

    A smaller neighbour comes after the larger ones of the rows before its own, a larger one after
    the smaller ones of the rows up to its own.
    """
    before, upto = _running(larger)[:-1], np.cumsum(smaller)
    first = np.arange(smaller.sum()) + np.repeat(before, smaller)
    then = np.arange(larger.sum()) + np.repeat(upto, larger)
    return np.concatenate([first, then])


def _running(counts: Array) -> Array:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def check_size(num_nodes: int) -> None:
    """Refuses more nodes than keys of 63 bits can hold."""
    if num_nodes >= 2**31:
        raise InputError(f"a store holds fewer than {2**31:,} nodes, not {num_nodes:,}")
