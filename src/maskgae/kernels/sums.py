"""Sums over neighbours of what dropout leaves of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.compiled import compiled


@compiled
def sum_kept(matrix: Any, x: Any, keep: Any, part: slice, out: Any) -> None:
    r""":math:`A (X \odot M)` for some rows, with the nodes' own entries: ``[C, d] -> [n, d]``.

    Args:
        matrix: where its rows begin, its columns, what they weigh, and what the own entry of each
            row weighs, which is that of the column of its number.
        x: the other factor.
        keep: 1 where dropout keeps an entry of it, else 0.
        part: the rows.
        out: the whole product, of which these rows are filled.
    """
    indptr, indices, values, own = matrix
    for row in range(part.start, part.stop):
        for column in range(x.shape[1]):
            out[row, column] = own[row] * x[row, column] * np.float32(keep[row, column])
        for entry in range(indptr[row], indptr[row + 1]):
            source, weight = indices[entry], values[entry]
            for column in range(x.shape[1]):
                out[row, column] += weight * x[source, column] * np.float32(keep[source, column])
