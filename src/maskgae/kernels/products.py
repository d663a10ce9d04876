"""Products of the rows of pairs, and gradients back to the rows.

``drawn`` are random bytes; dropout keeps an entry where its own lies below the threshold. It is
``None`` where nothing is dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.compiled import compiled, compiled_sums


@compiled
def multiply_rows(z: Any, u: Any, v: Any, drawn: Any, threshold: int, out: Any) -> None:
    """What dropout leaves of the products, not scaled: ``[N, d], [P], [P] -> [P, d]``."""
    for pair in range(u.size):
        one, other = u[pair], v[pair]
        for column in range(z.shape[1]):
            value = z[one, column] * z[other, column]
            if drawn is not None:
                value = value if drawn[pair, column] < threshold else np.float32(0)
            out[pair, column] = value


@compiled_sums
def row_dots(table: Any, u: Any, v: Any, out: Any) -> None:
    """Inner products of rows, which are copied nowhere: ``[N, d], [P], [P] -> [P]``."""
    for pair in range(u.size):
        one, other, total = table[u[pair]], table[v[pair]], np.float32(0)
        for column in range(one.size):
            total += one[column] * other[column]
        out[pair] = total


@compiled_sums
def head_dots(left: Any, right: Any, u: Any, v: Any, out: Any) -> None:
    """Inner products of each head of two tables: ``[n, h, d], [m, h, d], [P], [P] -> [P, h]``."""
    for pair in range(u.size):
        for head in range(left.shape[1]):
            one, other, total = left[u[pair], head], right[v[pair], head], np.float32(0)
            for column in range(one.size):
                total += one[column] * other[column]
            out[pair, head] = total


@compiled
def add_rows(
    z: Any, u: Any, v: Any, drawn: Any, threshold: int, grad: Any, part: slice, out: Any
) -> None:
    """Adds to each ``u`` what flows back through its products: ``[P], [P], [P, d] -> [N, d]``.

    Args:
        z: the rows that were multiplied.
        u: whose gradient.
        v: their partners.
        drawn: of dropout.
        threshold: of dropout.
        grad: of what dropout left.
        part: the columns that are added.
        out: the gradient of the rows.
    """
    for pair in range(u.size):
        # Rows of their own, whose columns count from zero, are worked through many at a time.
        own, partner = out[u[pair]][part], z[v[pair]][part]
        flowing = grad[pair][part]
        if drawn is None:
            for column in range(own.size):
                own[column] += partner[column] * flowing[column]
        else:
            kept = drawn[pair][part]
            for column in range(own.size):
                more = partner[column] * flowing[column]
                own[column] += more if kept[column] < threshold else np.float32(0)
