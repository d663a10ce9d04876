"""A step of a diffusion over a graph, behind the sum over neighbours."""

from __future__ import annotations

from typing import Any

from maskgae.kernels.compiled import compiled_sums


@compiled_sums
def chebyshev_step(
    summed: Any, own: Any, z: Any, x: Any, before: Any, factors: Any, part: slice
) -> None:
    r""":math:`b + \omega (\rho (s + o z) + \alpha x - b)` for some rows, in place of :math:`s`.

    Args:
        summed: what neighbours send, ``[N, d]``.
        own: what a node's own row weighs, ``[N]``.
        z: what was sent, ``[N, d]``.
        x: what is diffused, ``[N, d]``.
        before: the step before the last, ``[N, d]``.
        factors: :math:`\rho`, :math:`\alpha` and :math:`\omega`, of the tables' type.
        part: the rows.
    """
    rho, alpha, omega = factors
    for row in range(part.start, part.stop):
        total, weight, here = summed[row], own[row], before[row]
        sent, start = z[row], x[row]
        for column in range(total.size):
            new = rho * (total[column] + weight * sent[column]) + alpha * start[column]
            total[column] = here[column] + omega * (new - here[column])
