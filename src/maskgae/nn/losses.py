r"""What the training minimises: a loss on pairs and a loss on degrees.

With :math:`s^+` the logit of a masked edge (a target) and :math:`s^-_1 \dots s^-_k` those of its
negative samples:

============  ================================================================================
``bce``       :math:`\log(1 + e^{-s^+}) + \frac{1}{k}\sum_i \log(1 + e^{s^-_i})`, the paper's
``auc``       :math:`\frac{1}{k}\sum_i (1 - s^+ + s^-_i)^2`
``info_nce``  :math:`-\log \frac{e^{s^+}}{e^{s^+} + \sum_i e^{s^-_i}}`
``softmax``   the mean of ``info_nce`` over the two halves of the negatives: where they keep an
              end of their target, the first half keeps one and the second the other, and each
              end asks for its partner as a ranking does
============  ================================================================================

All take logits, divided by ``objective.temperature``, and average over targets; none goes through
a sigmoid, whose gradient is zero where a negative is most wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskgae.base.rng import Stream
from maskgae.base.settings import ObjectiveConfig
from maskgae.base.sizes import CACHE_NUMBERS
from maskgae.base.threads import together
from maskgae.nn.decoder_kernels import decoder_pass
from maskgae.nn.products import pairs_of

#: Rows and columns of a table of logits that are computed together, for the cache.
TABLE_ROWS, TABLE_COLUMNS = 8, 1024

#: Chunks of pairs from which two threads are kept busy.
MANY_CHUNKS = 8

#: Losses of targets ``[T]`` and their negatives ``[T, k]``, one number per target: ``[T]``.
PairLoss = Callable[[Tensor, Tensor], Tensor]


def bce(positive: Tensor, negative: Tensor) -> Tensor:
    return F.softplus(-positive) + F.softplus(negative).mean(1)


def auc(positive: Tensor, negative: Tensor) -> Tensor:
    return (1 - positive.unsqueeze(1) + negative).square().mean(1)


def info_nce(positive: Tensor, negative: Tensor) -> Tensor:
    joined = torch.cat([positive.unsqueeze(1), negative], dim=1)
    return joined.logsumexp(1) - positive


def softmax(positive: Tensor, negative: Tensor) -> Tensor:
    return torch.stack([info_nce(positive, part) for part in negative.chunk(2, dim=1)]).mean(0)


LOSSES: dict[str, PairLoss] = {
    "bce": bce,
    "auc": auc,
    "info_nce": info_nce,
    "softmax": softmax,
}


def loss_of(config: ObjectiveConfig) -> PairLoss:
    """The loss on pairs that the configuration describes.

    >>> tempered = loss_of(ObjectiveConfig(loss="info_nce", temperature=2.0))
    >>> tempered(torch.tensor([4.0]), torch.tensor([[2.0]])) == info_nce(
    ...     torch.tensor([2.0]), torch.tensor([[1.0]]))
    tensor([True])
    """
    loss, heat = LOSSES[config.loss], config.temperature
    if heat == 1:
        return loss
    return lambda positive, negative: loss(positive / heat, negative / heat)


def degree_loss(predicted: Tensor, degrees: Tensor) -> Tensor:
    r"""Mean squared error :math:`\frac{1}{N}\sum_v (g(z_v) - \deg_{mask}(v))^2`."""
    return F.mse_loss(predicted, degrees.to(predicted.dtype))


def pair_loss(
    z: Tensor,
    decoder: nn.Module,
    targets: Tensor,
    negatives: Tensor,
    loss: PairLoss,
    stream: Stream | None,
) -> Tensor:
    r"""The mean loss over targets, computed chunk by chunk.

    Each chunk gathers its rows of ``z``, decodes them and adds its part of the gradient with
    respect to ``z`` and the decoder's weights at once, so memory does not grow with the number of
    pairs, and the encoder behind ``z`` runs backward only once.

    Args:
        z: the node embeddings.
        decoder: maps products ``[n, d]`` to logits ``[n]``.
        targets: the pairs to predict.
        negatives: non-edges; those of target ``i`` are ``negatives[:, i * k : (i + 1) * k]``.
        loss: as :func:`loss_of` gives it.
        stream: randomness of the decoder's dropout.

    Shapes:
        - **z:** ``[N, d]``
        - **targets:** ``[2, T]``
        - **negatives:** ``[2, T * k]``
    """
    parameters = list(decoder.parameters())
    out: Tensor = _ChunkedPairLoss.apply(
        z, (decoder, targets, negatives, loss, stream), *parameters
    )
    return out


class _ChunkedPairLoss(torch.autograd.Function):
    """Value and gradients in the forward pass; the backward pass only scales them."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, task: Any, *parameters: Tensor) -> Tensor:
        decoder, targets, negatives, loss, stream = task
        count = targets.shape[1]
        each = negatives.shape[1] // count
        # Chunks that fit the cache and the allocator's free list cost a quarter of a large gather.
        rows = max(1, CACHE_NUMBERS // (z.shape[1] * (1 + each)))
        chunks = range(0, count, rows)
        size = min(rows, count) * (1 + each)

        @torch.no_grad()  # which threads do not inherit
        def summed(numbers: range) -> list[Tensor]:
            total, grad_z = z.new_zeros(()), torch.zeros_like(z)
            run = decoder_pass(decoder, size)
            pairs = pairs_of(z, run, size, count * (1 + each))
            for number in numbers:
                start, stop = chunks[number], min(chunks[number] + rows, count)
                u, v = torch.cat(
                    [targets[:, start:stop], negatives[:, start * each : stop * each]], dim=1
                )
                noise = None if stream is None else stream.at("decoder", number)
                logits = pairs.forward(u, v, noise)
                value, grad_logits = _value_and_gradient(loss, logits, stop - start)
                pairs.backward(grad_logits.div_(count), grad_z)
                total += value / count
            return [total, grad_z, *run.grads]

        parts = together(summed, _halves(len(chunks), count * (1 + each) / z.shape[0]))
        total, *ctx.gradients = [sum(rest, first) for first, *rest in zip(*parts, strict=True)]
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # As a rule nothing scales the loss, and then nothing need be multiplied.
        grads = ctx.gradients if grad.item() == 1 else [grad * part for part in ctx.gradients]
        return (grads[0], None, *grads[1:])


def _halves(chunks: int, pairs_per_node: float) -> list[range]:
    """Which chunks are summed on their own: whatever the threads, so that all give the same bits.

    Sums of two halves need a second gradient of the rows, which few pairs are not worth.
    """
    if chunks < MANY_CHUNKS or pairs_per_node < 2:
        return [range(chunks)]
    return [range(chunks // 2), range(chunks // 2, chunks)]


def _value_and_gradient(loss: PairLoss, logits: Tensor, targets: int) -> tuple[Tensor, Tensor]:
    """The summed loss of a chunk and its gradient; the first logits are those of the targets."""
    with torch.enable_grad():
        logits = logits.detach().requires_grad_()
        value = loss(logits[:targets], logits[targets:].view(targets, -1)).sum()
        (grad,) = torch.autograd.grad(value, [logits])
    return value.detach(), grad


@torch.no_grad()
def pair_logits(z: Tensor, decoder: nn.Module, pairs: Tensor) -> Tensor:
    """The decoder's logits of given pairs, ``[N, d], [2, P] -> [P]``, chunk by chunk."""
    rows = max(1, CACHE_NUMBERS // z.shape[1])
    parts = [
        decoder(z.index_select(0, u) * z.index_select(0, v))
        for u, v in zip(pairs[0].split(rows), pairs[1].split(rows), strict=True)
    ]
    return torch.cat(parts) if parts else z.new_zeros(0)


@torch.no_grad()
def row_logits(
    z: Tensor, decoder: nn.Module, nodes: Tensor, columns: Tensor | None = None
) -> Tensor:
    """The decoder's logits of nodes against all nodes or some, ``[N, d], [n], [c] -> [n, c]``."""
    others = z if columns is None else z.index_select(0, columns)
    out = z.new_empty(nodes.numel(), others.shape[0])
    table: Any = decoder.table
    for first in range(0, nodes.numel(), TABLE_ROWS):
        own = z.index_select(0, nodes[first : first + TABLE_ROWS])
        for start in range(0, others.shape[0], TABLE_COLUMNS):
            part = slice(start, start + TABLE_COLUMNS)
            out[first : first + TABLE_ROWS, part] = table(own, others[part])
    return out
