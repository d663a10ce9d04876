r"""A decoder run forward and backward by hand, chunk after chunk in the same memory.

On the pairs of a step the decoder is small and its activations are large: the time goes into
passes over memory, not into arithmetic. Autograd makes a fresh tensor for each of them; here every
pass that can be made in place is, in buffers that stay in the cache, and the scale of what dropout
keeps is folded into the weights. The tests hold both ways equal.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from maskgae.base.dropout import fill_kept, keep_threshold, random_bytes
from maskgae.base.rng import Stream
from maskgae.nn.decoders import MLP


class Pass(Protocol):
    """What runs a decoder on one chunk of pairs after another.

    ``forward`` may overwrite its input; ``backward`` belongs to the last ``forward``, returns the
    gradient with respect to the input and adds those of the parameters to ``grads``, which stand
    in the order of ``decoder.parameters()``. Where the caller has ``dropped`` entries of the input
    already, those whose byte of ``drawn`` is the threshold or more, both leave that to it.
    """

    grads: list[Tensor]
    threshold: int

    def forward(self, x: Tensor, stream: Stream | None, dropped: bool = False) -> Tensor: ...

    def drawn(self, x: Tensor, stream: Stream | None) -> Tensor | None: ...

    def backward(self, grad: Tensor) -> Tensor: ...


def decoder_pass(decoder: nn.Module, rows: int) -> Pass:
    """A pass for chunks of at most ``rows`` pairs."""
    return MLPPass(decoder, rows) if isinstance(decoder, MLP) else DotPass()


class MLPPass:
    r"""Forward and backward of an :class:`MLP` of hidden layers
    :math:`H_l = \max(0, (H_{l-1} \odot M_l)\, s W_l + b_l)`.

    Args:
        decoder: the network.
        rows: how many rows a chunk has at most.
    """

    def __init__(self, decoder: MLP, rows: int) -> None:
        parameters = [parameter.detach() for parameter in decoder.parameters()]
        *self.weights, last = parameters[::2]
        *self.biases, self.last_bias = parameters[1::2]
        self.p, self.last = decoder.dropout, last.squeeze(1)
        self.threshold = keep_threshold(self.p)
        self.scale = 1.0  # what dropout keeps is multiplied by this
        self.grads = [torch.zeros_like(parameter) for parameter in parameters]
        self._inputs: list[Tensor] = []
        self._kept = [weight.new_empty(rows, weight.shape[0]) for weight in self.weights]
        self._hidden = [weight.new_empty(rows, weight.shape[1]) for weight in self.weights]

    def drawn(self, x: Tensor, stream: Stream | None) -> Tensor | None:
        """The bytes of dropout before the first layer, ``[n, in]``; ``None`` for no dropout."""
        if stream is None or self.threshold == 256 or not self.weights:
            return None
        return random_bytes(x.numel(), stream.at(0), x.device).view(x.shape)

    def forward(self, x: Tensor, stream: Stream | None, dropped: bool = False) -> Tensor:
        """Logits, ``[n, in] -> [n]``; the input is overwritten with what dropout leaves of it."""
        self._noisy = stream is not None and self.p > 0
        self._first = int(dropped)
        self.scale = 256 / self.threshold if self._noisy else 1.0
        self._inputs = []
        for level, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if self._noisy and level >= self._first:
                assert stream is not None
                kept = self._kept[level][: x.shape[0]]
                fill_kept(kept, self.p, stream.at(level))
                x.mul_(kept)
            self._inputs.append(x)
            out = self._hidden[level][: x.shape[0]]
            x = torch.mm(x, self.scale * weight, out=out).add_(bias).relu_()
        self._inputs.append(x)
        return torch.mv(x, self.last).add_(self.last_bias)

    def backward(self, grad: Tensor) -> Tensor:
        """From the gradient of the logits ``[n]`` to that of the input ``[n, in]``."""
        self.grads[-2] += torch.mv(self._inputs[-1].T, grad).unsqueeze(1)
        self.grads[-1] += grad.sum()
        flowing = torch.outer(grad, self.last)
        for level in reversed(range(len(self.weights))):
            out, x = self._inputs[level + 1], self._inputs[level]
            flowing = torch.ops.aten.threshold_backward(flowing, out, 0)
            self.grads[2 * level].addmm_(x.T, flowing, alpha=self.scale)
            self.grads[2 * level + 1] += flowing.sum(0)
            # Nobody needs the first level's input any more, so the gradient takes its place.
            weight = self.scale * self.weights[level]
            flowing = torch.mm(flowing, weight.T, out=x if level == 0 else None)
            if self._noisy and level >= self._first:
                flowing.mul_(self._kept[level][: x.shape[0]])
        return flowing


class DotPass:
    """Forward and backward of the inner product."""

    threshold = 256

    def __init__(self) -> None:
        self.grads: list[Tensor] = []
        self._width = 0

    def drawn(self, x: Tensor, stream: Stream | None) -> Tensor | None:
        return None

    def forward(self, x: Tensor, stream: Stream | None, dropped: bool = False) -> Tensor:
        self._width = x.shape[1]
        return x.sum(1)

    def backward(self, grad: Tensor) -> Tensor:
        return grad.unsqueeze(1).expand(-1, self._width)
