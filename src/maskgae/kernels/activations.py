"""Activations and their gradients, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.compiled import compiled

#: :math:`\ln 2` in two parts, the first of few bits, so that a multiple of it is exact.
LN2, LN2_REST = np.float32(0.693359375), np.float32(-2.12194440e-4)
PER_LN2 = np.float32(1.4426950408889634)
#: Below it :math:`e^y - 1` is -1 in float32.
LOWEST = np.float32(-87)


@compiled
def expm1(y: Any) -> Any:
    r""":math:`e^y - 1` of a negative float32, as :math:`2^n (e^r - 1) + 2^n - 1`.

    With :math:`|r| \le \ln(2) / 2` a polynomial gives it to the last bit or two; the processor
    works on many entries at a time, which it does not with the C library's.
    """
    n = np.floor(y * PER_LN2 + np.float32(0.5))
    r = (y - n * LN2) - n * LN2_REST
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * r * r + r
    power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return power * p + (power - np.float32(1))


@compiled
def shifted_elu(block: Any, shift: Any, drawn: Any, threshold: int, scale: float) -> None:
    """Adds the shift, activates and drops, in place: ``[n, d], [d], [n, d]``.

    Args:
        block: what is activated.
        shift: what is added to each row.
        drawn: random bytes; an entry stays where its own lies below the threshold. ``None`` to
            drop nothing.
        threshold: of the bytes.
        scale: what multiplies the entries that stay.
    """
    zero, factor = np.float32(0), np.float32(scale)
    for row in range(block.shape[0]):
        for column in range(block.shape[1]):
            y = block[row, column] + shift[column]
            below = y if y < zero else zero
            bent = expm1(below if below > LOWEST else LOWEST)
            y = bent if y <= zero else y  # what is not a number stays so
            if drawn is not None:
                y = y * factor if drawn[row, column] < threshold else zero
            block[row, column] = y


@compiled
def elu_gradient(flowing: Any, out: Any, scale: float, drops: bool) -> None:
    """Takes a gradient back through dropout and ELU, in place, from their output: ``[n], [n]``.

    Behind a negative entry :math:`s y` of what dropout kept the slope is :math:`s (y + 1)`.
    """
    zero, factor = np.float32(0), np.float32(scale)
    for entry in range(out.size):
        y = out[entry]
        slope = min(y, zero) + factor
        flowing[entry] = zero if drops and y == zero else flowing[entry] * slope


@compiled
def prelu_gradient(x: Any, flowing: Any, slope: Any, back: Any, share: Any) -> None:
    """Takes a gradient back through a PReLU: to its input, and each entry's share of the slope's.

    Args:
        x: what was activated, ``[n]``.
        flowing: the gradient of what came out of it, ``[n]``.
        slope: of negative entries.
        back: filled with the gradient of the input, ``[n]``.
        share: filled with what each entry adds to the gradient of the slope, ``[n]``.
    """
    zero = np.float32(0)
    for entry in range(x.size):
        above = x[entry] > zero
        back[entry] = flowing[entry] if above else slope * flowing[entry]
        share[entry] = zero if above else x[entry] * flowing[entry]
