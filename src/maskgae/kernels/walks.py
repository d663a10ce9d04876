"""Walks whose steps depend on the one before."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.blocks import DRAWS, uniform
from maskgae.kernels.compiled import compiled
from maskgae.kernels.neighbours import first_from


@compiled
def biased_steps(
    indptr: Any, indices: Any, starts: Any, p: float, q: float, most: int, key: int, out: Any
) -> None:
    """Walks of node2vec by rejection, ``[W] -> [length, W]``.

    Args:
        indptr: where rows begin.
        indices: their columns, ascending.
        starts: the first node of each walk.
        p: the larger, the fewer steps go back.
        q: the larger, the fewer steps go away.
        most: proposals for a step before the last one is taken as it is.
        key: of the draws; what a walk draws follows from its number.
        out: the entry that each step takes, -1 where a walk stands on a node without neighbours.
    """
    largest = max(1 / p, 1.0, 1 / q)
    for walk in range(starts.size):
        before, here, draw = -1, starts[walk], walk * DRAWS
        for step in range(out.shape[0]):
            first, count = indptr[here], indptr[here + 1] - indptr[here]
            out[step, walk] = -1
            if count == 0:
                continue
            for _ in range(most + 1):
                entry = first + np.int64(uniform(draw, key) * count)
                proposed, chance = indices[entry], uniform(draw + 1, key) * largest
                draw += 2
                if before < 0 or chance < _weight(indptr, indices, before, proposed, p, q):
                    break
            out[step, walk] = entry
            before, here = here, proposed


@compiled
def _weight(indptr: Any, indices: Any, before: int, node: int, p: float, q: float) -> float:
    if node == before:
        return 1 / p
    end = indptr[before + 1]
    place = first_from(indices, indptr[before], end, node)
    return 1.0 if place < end and indices[place] == node else 1 / q
