"""Raw edges to sorted unique pairs, and pairs to numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Cleaning:
    """What was done to raw edges to make them a simple undirected graph."""

    self_loops: int = 0
    duplicates: int = 0
    symmetrised: int = 0
    isolated: int = 0

    def __str__(self) -> str:
        return (
            f"{self.self_loops:,} self-loops dropped, {self.duplicates:,} duplicates merged, "
            f"{self.symmetrised:,} directed edges symmetrised, "
            f"{self.isolated:,} isolated nodes kept"
        )


def pair_keys(pairs: Tensor, num_nodes: int) -> Tensor:
    """One number per pair, the same for both directions, ``[2, P] -> [P]``."""
    return pairs.amin(0).long().mul_(num_nodes).add_(pairs.amax(0))


def contains_keys(sorted_keys: Tensor, keys: Tensor) -> Tensor:
    """Which of ``keys`` stand in the ascending ``sorted_keys``."""
    if sorted_keys.numel() == 0:
        return torch.zeros_like(keys, dtype=torch.bool)
    place = torch.searchsorted(sorted_keys, keys).clamp_(max=sorted_keys.numel() - 1)
    return sorted_keys[place] == keys


def canonical_pairs(
    edges: np.ndarray[Any, Any], num_nodes: int, weights: Any = None
) -> tuple[Tensor, Tensor | None, Cleaning]:
    """Sorted unique pairs ``u < v`` of raw edges ``[2, E]``, with summed weights and the counts.

    An edge that repeats another in the same direction is a duplicate; one whose opposite is not
    given is symmetrised.
    """
    _check_ids(edges, num_nodes)
    u, v = edges
    proper = u != v
    low, high = np.minimum(u, v)[proper], np.maximum(u, v)[proper]
    keys = low * np.int64(num_nodes) + high
    unique, inverse = np.unique(keys, return_inverse=True)
    directed = np.unique(u[proper] * np.int64(num_nodes) + v[proper]).size
    pairs = torch.from_numpy(np.stack([unique // max(1, num_nodes), unique % max(1, num_nodes)]))
    summed = None
    if weights is not None:
        values = np.asarray(weights, dtype=np.float64)
        if values.shape != u.shape:
            raise InputError(
                f"weights need one value per edge: there are {u.size:,} edges and {values.size:,} "
                "weights"
            )
        sums = np.bincount(inverse, _checked_weights(values[proper]), unique.size)
        summed = torch.from_numpy(_checked_weights(sums).astype(np.float32))
    touched = np.unique(pairs.numpy()).size
    cleaning = Cleaning(
        self_loops=int(u.size - keys.size),
        duplicates=int(keys.size - directed),
        symmetrised=int(2 * unique.size - directed),
        isolated=int(num_nodes - touched),
    )
    return pairs, summed, cleaning


def edge_array(edges: Any) -> np.ndarray[Any, Any]:
    try:
        array = edges.detach().cpu().numpy() if isinstance(edges, Tensor) else np.asarray(edges)
    except ValueError:
        raise InputError(
            "edges must have shape [2, E] or [E, 2], not rows of unlike length"
        ) from None
    if array.size == 0:
        return np.empty((2, 0), dtype=np.int64)
    if array.ndim != 2 or 2 not in array.shape:
        raise InputError(f"edges must have shape [2, E] or [E, 2], not {list(array.shape)}")
    if array.shape[0] != 2 or (array.shape == (2, 2) and _are_pairs(edges)):
        array = array.T
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"edges must be whole numbers from 0 on, not {array.dtype}")
    return array.astype(np.int64)


def _check_ids(edges: np.ndarray[Any, Any], num_nodes: int) -> None:
    if edges.size and (edges.min() < 0 or edges.max() >= num_nodes):
        worst = edges.min() if edges.min() < 0 else edges.max()
        raise InputError(
            f"node ids must lie in 0 to {num_nodes - 1:,}, but one is {worst:,}: "
            "renumber the nodes or give num_nodes"
        )


def _are_pairs(edges: Any) -> bool:
    """Whether two by two numbers are two pairs, as in a list, and not two rows of ends."""
    return isinstance(edges, Sequence) and not isinstance(edges[0], np.ndarray | Tensor)


def unfit_weights(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The places of weights that are not positive, or that 32 bits round to zero or infinity."""
    with np.errstate(over="ignore", under="ignore"):
        kept = values.astype(np.float32)
    return np.flatnonzero(~(np.isfinite(kept) & (kept > 0)))


def _checked_weights(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    bad = unfit_weights(values)
    if bad.size:
        raise InputError(
            f"edge weights must be positive numbers of 32 bits, but {bad.size:,} are not, "
            f"the first of them {values[bad[0]]}: drop those edges, or scale the weights"
        )
    return values


def is_symmetric(edges: Any, values: Any, num_nodes: int) -> bool:
    """Whether each edge stands in both directions with one weight, which then counts half each."""
    matrix = sp.coo_array((values, tuple(edges)), shape=(num_nodes, num_nodes)).tocsr()
    return bool((abs(matrix - matrix.T) > 0).nnz == 0)


class AllPairs:
    """The numbers of all pairs of nodes ``u < v``."""

    def __init__(self, num_nodes: int) -> None:
        self.num_nodes, self.count = num_nodes, num_nodes * (num_nodes - 1) // 2

    def ranks(self, pairs: NDArray[Any]) -> Integers:
        return pair_ranks(pairs, self.num_nodes)

    def pairs(self, ranks: Integers) -> Integers:
        return rank_pairs(ranks, self.num_nodes)


def pair_ranks(pairs: NDArray[Any], num_nodes: int | Integers) -> Integers:
    r"""The numbers of pairs ``u < v`` in row order, ``[2, P] -> [P]``.

    .. math::
        t(u, v) = u N - u (u + 1) / 2 + (v - u - 1)

    >>> pair_ranks(np.array([[0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]]), num_nodes=4)
    array([0, 1, 2, 3, 4, 5])
    """
    u, v = pairs.astype(np.int64)
    ranks: Integers = u * num_nodes - u * (u + 1) // 2 + (v - u - 1)
    return ranks


def rank_pairs(ranks: Integers, num_nodes: int | Integers) -> Integers:
    r"""The pairs with the given numbers, ``[P] -> [2, P]``; undoes :func:`pair_ranks`.

    Counted from the end, :math:`s = N (N - 1) / 2 - 1 - t`, the rows have 1, 2, 3, ... pairs, and
    row :math:`w = \lfloor (\sqrt{8 s + 1} - 1) / 2 \rfloor` holds number :math:`s`. The root in
    float64 is off by less than one row up to :math:`10^8` nodes and beyond, so one step of whole
    numbers in either direction makes it right.

    >>> rank_pairs(np.array([0, 2, 5]), num_nodes=4).tolist()
    [[0, 0, 2], [1, 3, 3]]
    """
    s = num_nodes * (num_nodes - 1) // 2 - 1 - ranks
    w = ((np.sqrt(8.0 * s + 1.0) - 1.0) / 2.0).astype(np.int64)
    w -= w * (w + 1) // 2 > s
    w += (w + 1) * (w + 2) // 2 <= s
    return np.stack([num_nodes - 2 - w, num_nodes - 1 - (s - w * (w + 1) // 2)])
