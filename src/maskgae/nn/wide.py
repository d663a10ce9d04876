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

An entry that dropout keeps is not zero, so the output itself says what was dropped. Where the
next layer first sums over neighbours, the gradient of the output is made and used block by block,
and the output's memory serves the next step again: fresh pages cost more than what fills them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from maskgae.base.dropout import keep_threshold, random_bytes
from maskgae.base.rng import Stream
from maskgae.data.features import DenseFeatures
from maskgae.nn.adjacency import Adjacency

#: Numbers of a block of rows of the output, 1 MiB in float32, which stay in the cache.
BLOCK = 2**18


class Spare:
    """Memory that one step leaves to the next."""

    def __init__(self) -> None:
        self._numbers: list[Tensor] = []

    def take(self, rows: int, columns: int) -> Tensor:
        """A matrix to fill."""
        kept = self._numbers.pop() if self._numbers else torch.empty(0)
        if kept.numel() < rows * columns:
            kept = torch.empty(rows * columns * 17 // 16)  # other batches are a little larger
        return kept[: rows * columns].view(rows, columns)

    def give(self, matrix: Tensor) -> None:
        """Takes a matrix back that nobody reads any more."""
        self._numbers = [matrix.view(-1)]

    def clear(self) -> None:
        self._numbers = []


class WideLayer(DenseFeatures):
    """The layer's output in training, made when it is asked for; its input gets no gradient.

    Args:
        x: the rows.
        weight: what multiplies them.
        norm: batch normalisation, whose running statistics are updated.
        p: the rate of dropout that follows the activation.
        stream: where dropout draws from; ``None`` for no dropout.
        spare: memory of the last step.

    Shapes:
        - **x:** ``[n, in]``
        - **weight:** ``[in, out]``
        - **output:** ``[n, out]``
    """

    def __init__(
        self,
        x: Tensor,
        weight: Tensor,
        norm: nn.BatchNorm1d,
        p: float,
        stream: Stream | None,
        spare: Spare | None = None,
    ) -> None:
        self.num_rows, self.num_columns = x.shape[0], weight.shape[1]
        self.message_width = self.num_columns
        self._parts = x, weight, norm.weight, norm.bias, norm
        self._drops = None if stream is None or p == 0 else (p, stream)
        self._spare = spare or Spare()

    @cached_property
    def tensor(self) -> Tensor:  # type: ignore[override]
        return self._applied(None)

    @property
    def fixed(self) -> bool:
        return False

    def around(self, adjacency: Adjacency) -> Tensor:
        return self._applied(adjacency)

    def _applied(self, adjacency: Adjacency | None) -> Tensor:
        out: Tensor = _WideLayer.apply(*self._parts, self._drops, adjacency, self._spare)
        return out


class _WideLayer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        gamma: Tensor,
        beta: Tensor,
        norm: Any,
        drops: tuple[float, Stream] | None,
        adjacency: Adjacency | None,
        spare: Spare,
    ) -> Tensor:
        rows, width = max(1, BLOCK // weight.shape[1]), weight.shape[1]
        mean, covariance = _moments(x, rows)
        centre = mean @ weight
        spread = (weight * (covariance @ weight)).sum(0).clamp_(min=0)
        _track(norm, centre, spread, x.shape[0])
        inverse = (spread + norm.eps).rsqrt()
        factor = gamma * inverse
        out = x.new_empty(x.shape[0], width) if adjacency is None else spare.take(len(x), width)
        ctx.scale = _fill(out, x, weight * factor, beta - centre * factor, drops)
        ctx.save_for_backward(x, out, weight, mean, covariance, centre, inverse, factor)
        ctx.drops, ctx.adjacency, ctx.spare = drops is not None, adjacency, spare
        return out if adjacency is None else adjacency.normalized(out)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from maskgae.kernels.activations import elu_gradient

        x, out, weight, mean, covariance, centre, inverse, factor = ctx.saved_tensors
        product, total = torch.zeros_like(weight), torch.zeros_like(centre)
        grad = grad.contiguous()
        for part in _blocks(x, max(1, BLOCK // weight.shape[1])):
            behind = grad[part].clone() if ctx.adjacency is None else ctx.adjacency.back(grad, part)
            elu_gradient(behind.view(-1).numpy(), out[part].view(-1).numpy(), ctx.scale, ctx.drops)
            product.addmm_(x[part].T, behind)
            total += behind.sum(0)
        if ctx.adjacency is not None:
            ctx.spare.give(out)
        of_gamma = inverse * ((weight * product).sum(0) - centre * total)
        product -= torch.outer(mean, total) + (covariance @ weight) * (inverse * of_gamma)
        return None, product * factor, of_gamma, total, *[None] * 4


def _fill(
    out: Tensor, x: Tensor, weight: Tensor, shift: Tensor, drops: tuple[float, Stream] | None
) -> float:
    """Multiplies, shifts, activates and drops, block by block; returns the scale of dropout."""
    from maskgae.kernels.activations import shifted_elu

    threshold = 256 if drops is None else keep_threshold(drops[0])
    for number, part in enumerate(_blocks(x, max(1, BLOCK // weight.shape[1]))):
        block, drawn = torch.mm(x[part], weight, out=out[part]), None
        if drops is not None and threshold < 256:
            drawn = random_bytes(block.numel(), drops[1].at(number)).view(block.shape).numpy()
        shifted_elu(block.numpy(), shift.numpy(), drawn, threshold, 256 / threshold)
    return 256 / threshold


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
