r"""Weights of a conditional softmax, by Newton's method.

With the columns :math:`x_{q0}` of the partner that query :math:`q` asks for and :math:`x_{qi}` of
its candidates, the weights minimise

.. math::

    \frac{1}{Q} \sum_q \left(\log \sum_{i \ge 0} e^{w^\top x_{qi}} - w^\top x_{q0}\right)
    + \frac{\lambda}{2} |w|^2,

and, where pairs are told from their reverse, the mean of :math:`\log(1 + e^{w^\top t})` beside
it, with :math:`t` the columns of the reverse less those of the pair.

Columns are few and alike, so the curvature is small to keep and saves nine in ten evaluations of a
method that only follows the gradient.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]

#: Shares of the queries that threads take; their number does not depend on that of threads, so
#: neither do sums.
PARTS = 8
#: A step that promises to lower the loss by less is not taken, and so many are taken at most.
LEAST_GAIN, MOST_STEPS = 1e-9, 50
#: Candidates from which every so manieth of them gives the weights to start from.
MANY, APART = 4096, 8


def softmax_weights(
    found: Tensor,
    others: Tensor,
    left_out: Tensor,
    decay: float,
    turned: Tensor | None = None,
    start: Floats | None = None,
) -> Floats:
    """The weights under which partners stand highest among their candidates, ``[c]``.

    Args:
        found: columns of the partners.
        others: columns of the candidates.
        left_out: which of them are none.
        decay: :math:`\\lambda`.
        turned: columns of the reverse of pairs less their own.
        start: where to begin; where it is ``None``, at the weights that some of the candidates give
            or, where these are few, at zero.

    Shapes:
        - **found:** ``[Q, c]``
        - **others:** ``[Q, C, c]``
        - **left_out:** ``[Q, C]`` bool
        - **turned:** ``[T, c]``

    >>> found, others = torch.tensor([[1.0], [0.0]]), torch.tensor([[[0.0]], [[1.0]]])
    >>> softmax_weights(found, others, torch.zeros(2, 1, dtype=torch.bool), 0.1).tolist()
    [0.0]
    """
    if start is None and others.shape[1] > MANY:
        some = (others[:, ::APART].contiguous(), left_out[:, ::APART].contiguous())
        start = softmax_weights(found, *some, decay, turned)
    arrays = (found.numpy(), others.numpy(), left_out.numpy())
    reverse = None if turned is None else turned.double().numpy()
    weights = np.zeros(found.shape[1]) if start is None else start
    loss, gradient, curvature = _derivatives(arrays, reverse, weights, decay)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(curvature, -gradient)
        gain = -float(gradient @ step)
        if gain < LEAST_GAIN:
            break
        size = 1.0
        while True:
            trial = _derivatives(arrays, reverse, weights + size * step, decay)
            if trial[0] <= loss - 1e-4 * size * gain or size < 1e-6:
                break
            size /= 2
        weights = weights + size * step
        loss, gradient, curvature = trial
    return weights


def _derivatives(
    arrays: tuple[Any, Any, Any], turned: Floats | None, weights: Floats, decay: float
) -> tuple[float, Floats, Floats]:
    """The loss with its gradient ``[c]`` and curvature ``[c, c]``."""
    from maskgae.kernels.softmax import softmax_derivatives

    count, width = arrays[0].shape

    def part(cut: tuple[int, int]) -> tuple[float, Floats, Floats]:
        gradient, curvature = np.zeros(width), np.zeros((width, width))
        found, others, out = (array[slice(*cut)] for array in arrays)
        loss = softmax_derivatives(found, others, out, weights, gradient, curvature)
        return loss, gradient, curvature

    cuts = list(pairwise(count * place // PARTS for place in range(PARTS + 1)))
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        losses, gradients, curvatures = zip(*pool.map(part, cuts), strict=True)
    lower = sum(curvatures) / count
    curvature = lower + np.tril(lower, -1).T + decay * np.eye(width)
    loss = sum(losses) / count + decay / 2 * float(weights @ weights)
    gradient = sum(gradients) / count + decay * weights
    if turned is not None and len(turned):
        count, gap = len(turned), turned @ weights
        chance = np.exp(-np.logaddexp(0, -gap))
        loss += float(np.logaddexp(0, gap).mean())
        gradient = gradient + chance @ turned / count
        curvature += (turned * (chance * (1 - chance))[:, None]).T @ turned / count
    return loss, gradient, curvature
