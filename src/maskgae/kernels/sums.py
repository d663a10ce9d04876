"""Sums of rows: over neighbours, of what dropout leaves, as attention weighs them, by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.compiled import compiled, compiled_sums


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


@compiled_sums
def scatter_rows(matrix: Any, x: Any, part: slice, out: Any) -> None:
    r"""Adds to :math:`S^\top X` for some columns of ``x``, row after row: ``[n, d] -> [C, d]``.

    Args:
        matrix: where its rows begin, its columns and its values.
        x: the other factor, each row of which is read once.
        part: the columns of ``x``.
        out: the product, zero at first.
    """
    indptr, indices, values = matrix
    for row in range(indptr.size - 1):
        sent = x[row][part]
        for entry in range(indptr[row], indptr[row + 1]):
            weight, total = values[entry], out[indices[entry]][part]
            for column in range(total.size):
                total[column] += weight * sent[column]
