r"""What follows a layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

#: Entries activated at a time, few enough to stay in a core's cache.
BLOCK = 2**16


class ELU(nn.Module):
    r"""Clevert, Unterthiner and Hochreiter's unit (ICLR 2016), in place.

    .. math::
        \mathrm{elu}(x) = \max(x, e^{\min(x, 0)} - 1)

    On a processor NumPy does it, whose ``expm1`` uses the vector unit where torch's does not.

    >>> ELU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu" or x.dtype != torch.float32:
            return nn.functional.elu(x)
        out: Tensor = _ELU.apply(x.contiguous())
        return out


class _ELU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        entries = x.detach().view(-1).numpy()
        buffer = np.empty(min(BLOCK, entries.size), dtype=entries.dtype)
        for start in range(0, entries.size, BLOCK):
            part = entries[start : start + BLOCK]
            below = np.minimum(part, 0, out=buffer[: part.size])
            np.maximum(part, np.expm1(below, out=below), out=part)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        return torch.ops.aten.elu_backward(grad, 1, 1, 1, True, out)


class PReLU(nn.PReLU):
    r"""He et al.'s unit with one slope for negative entries (ICCV 2015).

    .. math::
        \mathrm{prelu}(x) = \max(x, 0) + a \min(x, 0)

    On a processor its gradient is compiled: the same bits as torch's, whose loop takes several
    times as long.

    >>> PReLU()(torch.tensor([[-1.0, 2.0]]))
    tensor([[-0.2500,  2.0000]], grad_fn=<_PReLUBackward>)
    """

    def forward(self, x: Tensor) -> Tensor:
        plain = x.device.type != "cpu" or x.dtype != torch.float32 or x.dim() != 2
        if plain or self.num_parameters > 1:
            return super().forward(x)
        out: Tensor = _PReLU.apply(x.contiguous(), self.weight)
        return out


class _PReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(x, slope)
        return nn.functional.prelu(x, slope)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        from maskgae.kernels.activations import prelu_gradient

        x, slope = ctx.saved_tensors
        back, share = torch.empty_like(x), torch.empty_like(x)
        arrays = [each.view(-1).numpy() for each in (x, grad.contiguous(), back, share)]
        prelu_gradient(arrays[0], arrays[1], np.float32(slope.item()), arrays[2], arrays[3])
        return back, share.sum().view(1)


def activation(kind: str) -> nn.Module:
    """The activation that the configuration names."""
    kinds = {"elu": ELU, "relu": nn.ReLU, "prelu": PReLU, "none": nn.Identity}
    return kinds[kind]()
