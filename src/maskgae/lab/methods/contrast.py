r"""What contrastive methods are built of.

==========================  ==============================================================
:class:`Projector`          :math:`g(h) = \mathrm{ELU}(h W_1 + b_1) W_2 + b_2`
:class:`Bilinear`           :math:`D(h, s) = h^\top M s + c`
:func:`discrimination`      :math:`\tfrac12 (\mathrm{mean} \log(1 + e^{-D^+}) + \mathrm{mean}
                            \log(1 + e^{D^-}))`, cross-entropy over real and fake logits
:func:`info_nce`            :math:`\mathrm{mean}_i -\log \frac{e^{u_i^\top v_i / \tau}}{\sum_k
                            e^{u_i^\top v_k / \tau} + \sum_{k \ne i} e^{u_i^\top u_k / \tau}}`
:func:`nt_xent`             the mean of both directions, on rows of length one
==========================  ==============================================================
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskgae.base.matmul import matmul
from maskgae.nn.linear import Linear, glorot

#: Logits of one block of :func:`info_nce` (16 MiB in float32).
BLOCK_NUMBERS = 2**22


class Projector(nn.Module):
    """Two dense layers with an ELU between them, ``[N, in] -> [N, out]``."""

    def __init__(self, in_channels: int, hidden: int, out_channels: int) -> None:
        super().__init__()
        self.first, self.second = Linear(in_channels, hidden), Linear(hidden, out_channels)

    def reset_parameters(self, generator: torch.Generator) -> None:
        self.first.reset_parameters(generator)
        self.second.reset_parameters(generator)

    def forward(self, h: Tensor) -> Tensor:
        out: Tensor = self.second(F.elu(self.first(h)))
        return out


class Bilinear(nn.Module):
    r"""A discriminator of pairs, :math:`h^\top M s + c`; a logit, not a probability.

    Shapes:
        - **h:** ``[N, left]``
        - **s:** ``[right]``, one for all rows, or ``[N, right]``
        - **output:** ``[N]``
    """

    def __init__(self, left: int, right: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(left, right))
        self.bias = nn.Parameter(torch.zeros(()))

    def reset_parameters(self, generator: torch.Generator) -> None:
        glorot(self.weight, generator)
        nn.init.zeros_(self.bias)

    def forward(self, h: Tensor, s: Tensor) -> Tensor:
        if s.dim() == 1:
            return h @ (self.weight @ s) + self.bias
        return (matmul(h, self.weight) * s).sum(1) + self.bias


def discrimination(real: Tensor, fake: Tensor) -> Tensor:
    """Cross-entropy of telling as many real logits from fake ones, ``[N], [N]``.

    >>> discrimination(torch.zeros(3), torch.zeros(3))
    tensor(0.6931)
    """
    return (F.softplus(-real).mean() + F.softplus(fake).mean()) / 2


def nt_xent(u: Tensor, v: Tensor, tau: float) -> Tensor:
    """The loss of GRACE: each node against all others of both views, by cosines.

    Shapes:
        - **u, v:** ``[N, d]``, the projections of two views
    """
    u, v = F.normalize(u, dim=1), F.normalize(v, dim=1)
    return (info_nce(u, v, tau) + info_nce(v, u, tau)) / 2


def info_nce(u: Tensor, v: Tensor, tau: float, block_numbers: int = BLOCK_NUMBERS) -> Tensor:
    """One direction of :func:`nt_xent`, on rows that have their length already.

    Value and gradient are made for some rows of the :math:`N^2` logits at a time, so memory grows
    with N only.

    >>> info_nce(torch.eye(2), torch.eye(2), 1.0)  # log(1 + 2 / e)
    tensor(0.5514)
    """
    out: Tensor = _InfoNCE.apply(u, v, tau, max(1, block_numbers // (2 * u.shape[0])))
    return out


class _InfoNCE(torch.autograd.Function):
    """Value and gradients in the forward pass; the backward pass only scales them."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor, tau: float, rows: int) -> Tensor:
        count = u.shape[0]
        others = torch.cat([v, u])
        total, grad_u, grad_others = u.new_zeros(()), torch.zeros_like(u), torch.zeros_like(others)
        for start in range(0, count, rows):
            part = torch.arange(start, min(start + rows, count), device=u.device)
            here = u[start : start + rows]
            # [rows, 2 N]
            logits = matmul(here, others.T).div_(tau)
            logits[part - start, count + part] = -torch.inf
            logits -= logits.logsumexp(1, keepdim=True)
            total -= logits[part - start, part].sum()
            share = logits.exp_()
            share[part - start, part] -= 1
            grad_u[start : start + rows] += matmul(share, others)
            grad_others += matmul(share.T, here)
        grad_v, grad_same = grad_others.split(count)
        scale = 1 / (count * tau)
        ctx.save_for_backward((grad_u + grad_same) * scale, grad_v * scale)
        return total / count

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        grad_u, grad_v = ctx.saved_tensors
        return grad * grad_u, grad * grad_v, None, None
