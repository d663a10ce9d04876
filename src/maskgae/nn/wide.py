r"""A wide layer in one pass: :math:`\mathrm{dropout}(\mathrm{elu}(\mathrm{BN}(X W)))`.

Where :math:`X W` is wider than :math:`X` and does not fit a cache, the passes over it are what a
layer costs. Batch normalisation needs none: with :math:`\bar x` and :math:`C` the mean and the
covariance of the rows of :math:`X`, the columns :math:`w_c` of the weights have outputs of mean
:math:`\bar x^\top w_c` and variance :math:`w_c^\top C w_c`, and what it multiplies and adds goes
into the weights. So the forward pass writes the output once, and the backward pass reads it and
its gradient once: with :math:`G` the gradient behind the activation, all that batch normalisation
sends back follows from :math:`X^\top G` and :math:`1^\top G`,

.. math::

    \nabla_\gamma = \frac{1}{\sigma} (\mathrm{diag}(W^\top X^\top G) - \mu \odot 1^\top G), \qquad
    \nabla_W = \frac{\gamma}{\sigma} (X^\top G - \bar x\, 1^\top G - C W \nabla_\gamma / \sigma).

An entry that dropout keeps is not zero, so the output itself says what was dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from maskgae.base.dropout import fill_kept
from maskgae.base.rng import Stream
from maskgae.nn.activations import elu_

#: Numbers of a block of rows of the output, 1 MiB in float32, which stay in the cache.
BLOCK = 2**18


def wide_layer(
    x: Tensor, weight: Tensor, norm: nn.BatchNorm1d, p: float, stream: Stream | None
) -> Tensor:
    """The layer's output in training; ``x`` gets no gradient.

    Args:
        x: the rows.
        weight: what multiplies them.
        norm: batch normalisation, whose running statistics are updated.
        p: the rate of dropout that follows the activation.
        stream: where dropout draws from; ``None`` for no dropout.

    Shapes:
        - **x:** ``[n, in]``
        - **weight:** ``[in, out]``
        - **output:** ``[n, out]``
    """
    drops = None if stream is None or p == 0 else (p, stream)
    out: Tensor = _WideLayer.apply(x, weight, norm.weight, norm.bias, norm, drops)
    return out


class _WideLayer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, gamma: Tensor, beta: Tensor, norm: Any, drops: Any
    ) -> Tensor:
        rows = max(1, BLOCK // weight.shape[1])
        mean, covariance = _moments(x, rows)
        centre = mean @ weight
        spread = (weight * (covariance @ weight)).sum(0).clamp_(min=0)
        _track(norm, centre, spread, x.shape[0])
        inverse = (spread + norm.eps).rsqrt()
        factor = gamma * inverse
        out, scale = x.new_empty(x.shape[0], weight.shape[1]), 1.0
        folded, shift = weight * factor, beta - centre * factor
        kept = x.new_empty(rows, weight.shape[1])
        for number, part in enumerate(_blocks(x, rows)):
            block = torch.addmm(shift, x[part], folded, out=out[part])
            elu_(block.view(-1).numpy())
            if drops is not None:
                p, stream = drops
                scale = fill_kept(kept[: block.shape[0]], p, stream.at(number))
                block.mul_(kept[: block.shape[0]].mul_(scale))
        ctx.save_for_backward(x, out, weight, mean, covariance, centre, inverse, factor)
        ctx.scale, ctx.drops = scale, drops is not None
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from maskgae.kernels.activations import elu_gradient

        x, out, weight, mean, covariance, centre, inverse, factor = ctx.saved_tensors
        rows = max(1, BLOCK // weight.shape[1])
        product, total = torch.zeros_like(weight), torch.zeros_like(centre)
        flowing = torch.empty(rows, weight.shape[1])
        for part in _blocks(x, rows):
            behind = flowing[: x[part].shape[0]]
            came, own, back = (
                t.contiguous().view(-1).numpy() for t in (grad[part], out[part], behind)
            )
            elu_gradient(came, own, back, ctx.scale, ctx.drops)
            product.addmm_(x[part].T, behind)
            total += behind.sum(0)
        of_gamma = inverse * ((weight * product).sum(0) - centre * total)
        product -= torch.outer(mean, total) + (covariance @ weight) * (inverse * of_gamma)
        return None, product * factor, of_gamma, total, None, None


def _moments(x: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """The mean and the covariance of the rows, ``[n, k] -> [k], [k, k]``."""
    mean = x.mean(0)
    covariance = x.new_zeros(x.shape[1], x.shape[1])
    for part in _blocks(x, rows):
        centred = x[part] - mean
        covariance.addmm_(centred.T, centred)
    return mean, covariance.div_(x.shape[0])


def _track(norm: nn.BatchNorm1d, mean: Tensor, variance: Tensor, count: int) -> None:
    """What batch normalisation remembers of a batch."""
    assert norm.running_mean is not None and norm.running_var is not None
    assert norm.momentum is not None and norm.num_batches_tracked is not None
    norm.running_mean.lerp_(mean, norm.momentum)
    norm.running_var.lerp_(variance * (count / max(1, count - 1)), norm.momentum)
    norm.num_batches_tracked += 1


def _blocks(x: Tensor, rows: int) -> Iterator[slice]:
    return (slice(start, start + rows) for start in range(0, x.shape[0], rows))
