"""Gradients of activations, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.compiled import compiled


@compiled
def elu_gradient(grad: Any, out: Any, flowing: Any, scale: float, drops: bool) -> None:
    """What flows back through dropout and ELU, from their output: ``[n], [n] -> [n]``.

    Behind a negative entry :math:`s y` of what dropout kept the slope is :math:`s (y + 1)`.
    """
    zero, factor = np.float32(0), np.float32(scale)
    for entry in range(out.size):
        y = out[entry]
        slope = min(y, zero) + factor
        flowing[entry] = zero if drops and y == zero else grad[entry] * slope
