"""Drawing neighbours together and others apart in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.compiled import compiled


@compiled
def pull_and_push(places: Any, near: Any, rounds: int, others: int, state: Any) -> None:
    r"""Moves points by stochastic steps, near pairs together and random ones apart.

    The steps lower :math:`-\log q_{ij}` of near pairs and :math:`-\log (1 - q_{ik})` of random
    ones, :math:`q_{ij} = 1 / (1 + |y_i - y_j|^2)`, each coordinate by four at most and less from
    round to round.

    Shapes:
        - **places:** ``[N, 2]``, changed
        - **near:** ``[N, k]``
        - **state:** ``[1]`` uint64, of a xorshift generator, not zero
    """
    count, width = near.shape
    drawn = state[0]
    for turn in range(rounds):
        rate = 1.0 - turn / rounds
        for i in range(count):
            for k in range(width):
                j = near[i, k]
                x, y = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
                pull = -2.0 / (1.0 + x * x + y * y)
                x = rate * min(4.0, max(-4.0, pull * x))
                y = rate * min(4.0, max(-4.0, pull * y))
                places[i, 0] += x
                places[i, 1] += y
                places[j, 0] -= x
                places[j, 1] -= y
                for _ in range(others):
                    drawn ^= drawn << np.uint64(13)
                    drawn ^= drawn >> np.uint64(7)
                    drawn ^= drawn << np.uint64(17)
                    o = np.int64(drawn % np.uint64(count))
                    if o == i:
                        continue
                    x, y = places[i, 0] - places[o, 0], places[i, 1] - places[o, 1]
                    apart = x * x + y * y
                    push = 2.0 / ((0.001 + apart) * (1.0 + apart))
                    places[i, 0] += rate * min(4.0, max(-4.0, push * x))
                    places[i, 1] += rate * min(4.0, max(-4.0, push * y))
    state[0] = drawn
