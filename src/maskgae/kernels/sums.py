"""Sums over neighbours: of what dropout leaves of rows, and as attention weighs them."""

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


@compiled
def sum_heads(matrix: Any, x: Any, part: slice, out: Any) -> None:
    """Weighted sums of each head for some rows, with the nodes' own entries.

    Args:
        matrix: where its rows begin, its columns, what an entry weighs for each head, ``[E, h]``,
            and what the own entries of the first rows weigh, ``[n, h]``.
        x: what is summed, ``[columns, h, d]``.
        part: the rows.
        out: the whole product, ``[rows, h, d]``, of which these rows are filled.
    """
    indptr, indices, weights, own = matrix
    for row in range(part.start, part.stop):
        for head in range(x.shape[1]):
            total = out[row, head]
            if row < own.shape[0]:
                weight, source = own[row, head], x[row, head]
                for column in range(total.size):
                    total[column] = weight * source[column]
            else:
                total[:] = 0
        for entry in range(indptr[row], indptr[row + 1]):
            for head in range(x.shape[1]):
                weight, source, total = (
                    weights[entry, head],
                    x[indices[entry], head],
                    out[row, head],
                )
                for column in range(total.size):
                    total[column] += weight * source[column]
