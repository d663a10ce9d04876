"""Softmax over many candidates with few weights: value, gradient and curvature in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.compiled import compiled

#: Candidates of a smaller share are counted in the curvature by every so manieth of them.
SMALL, EVERY = 1e-3, 8


@compiled
def softmax_derivatives(
    found: Any, others: Any, left_out: Any, weights: Any, gradient: Any, curvature: Any
) -> float:
    r"""The sum over queries of :math:`-\log p(\mathrm{partner})`, and its derivatives.

    With the shares :math:`p_i` of the partner and the candidates and their columns :math:`x_i`, the
    gradient is :math:`\bar x - x_0` and the curvature :math:`\sum_i p_i x_i x_i^\top - \bar x \bar
    x^\top`, where :math:`\bar x = \sum_i p_i x_i`; both are added to.

    Shapes:
        - **found:** ``[Q, c]``
        - **others:** ``[Q, C, c]``
        - **left_out:** ``[Q, C]`` bool
        - **weights**, **gradient:** ``[c]``
        - **curvature:** ``[c, c]``, below the diagonal
    """
    queries, count, width = others.shape
    share, mean, second = np.empty(count), np.empty(width), np.empty((width, width))
    loss = 0.0
    for query in range(queries):
        rows, out, own = others[query], left_out[query], 0.0
        for c in range(width):
            own += found[query, c] * weights[c]
        highest = own
        for i in range(count):
            logit = -np.inf
            if not out[i]:
                logit = 0.0
                for c in range(width):
                    logit += rows[i, c] * weights[c]
                highest = max(highest, logit)
            share[i] = logit
        total = np.exp(own - highest)
        for i in range(count):
            share[i] = np.exp(share[i] - highest)
            total += share[i]
        right = np.exp(own - highest) / total
        for a in range(width):
            mean[a] = right * found[query, a]
            for b in range(a + 1):
                second[a, b] = right * found[query, a] * found[query, b]
        for i in range(count):
            p = share[i] / total
            if p == 0.0:
                continue
            for a in range(width):
                mean[a] += p * rows[i, a]
            if p < SMALL:
                if i % EVERY:
                    continue
                p *= EVERY
            for a in range(width):
                scaled = p * rows[i, a]
                for b in range(a + 1):
                    second[a, b] += scaled * rows[i, b]
        loss += highest + np.log(total) - own
        for a in range(width):
            gradient[a] += mean[a] - found[query, a]
            for b in range(a + 1):
                curvature[a, b] += second[a, b] - mean[a] * mean[b]
    return loss
