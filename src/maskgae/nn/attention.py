r"""Attention: what each node makes of its neighbours and itself.

With logits :math:`s_{ij}` of the entries and :math:`s_{ii}` of the nodes themselves, each head has

.. math::
    o_i = \sum_{j \in N_i \cup i} \alpha_{ij} h_j, \qquad
    \alpha_{ij} = \frac{e^{s_{ij}}}{\sum_{k \in N_i \cup i} e^{s_{ik}}}.

The shares :math:`\alpha` are made before anything is summed, since there are few of them beside the
numbers of :math:`h`: what attention costs is going through those.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from maskgae.data.csr import CSR
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.entries import entry_products, is_large


def attend(h: Tensor, entries: Tensor, own: Tensor, adjacency: Adjacency) -> Tensor:
    """Softmax over each node's neighbours and itself, then the weighted sum of their vectors.

    Shapes:
        - **h:** ``[n_src, heads, d]``
        - **entries:** ``[entries, heads]`` logits; **own:** ``[n_dst, heads]`` logits of self-loops
        - **output:** ``[n_dst, heads * d]``
    """
    # The largest logit of a row is subtracted for range only, so it carries no gradient.
    rows = adjacency.csr.row_of_entry()
    index = rows.unsqueeze(1).expand_as(entries)
    top = own.detach().scatter_reduce(0, index, entries.detach(), "amax")
    weights, own = (entries - top.index_select(0, rows)).exp(), (own - top).exp()
    if adjacency.scale is not None:
        weights = weights * adjacency.scale.index_select(0, rows).unsqueeze(1)
    share = own.index_add(0, rows, weights).reciprocal()
    shares = adjacency.attention(weights * adjacency.destinations(share), own * share)
    return weighted_sum(h, *shares, adjacency)


def weighted_sum(h: Tensor, weights: Tensor, own: Tensor, adjacency: Adjacency) -> Tensor:
    """Sum over neighbours, and the node itself, with a weight for each entry and head.

    Shapes:
        - **h:** ``[n_src, heads, d]``
        - **weights:** ``[entries, heads]``; **own:** ``[n_dst, heads]``
        - **output:** ``[n_dst, heads * d]``
    """
    out: Tensor = _WeightedSum.apply(h, weights, own, adjacency)
    return out


class _WeightedSum(torch.autograd.Function):
    """No tensor of entries times width is made, and what comes out is no view: a bias is added
    in place.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, weights: Tensor, own: Tensor, adjacency: Adjacency) -> Tensor:
        ctx.save_for_backward(h, weights, own)
        ctx.adjacency = adjacency
        return _summed(adjacency.csr, weights, own, h)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        h, weights, own = ctx.saved_tensors
        adjacency: Adjacency = ctx.adjacency
        grad = grad.unflatten(1, h.shape[1:])
        back = weights.index_select(0, adjacency.order())
        grad_h = _summed(adjacency.transposed(), back, own, grad).view_as(h)
        grad_own = entry_products(grad, h, _diagonal(adjacency.num_dst, grad.device))
        return grad_h, entry_products(grad, h, adjacency.csr), grad_own, None


def _summed(csr: CSR, weights: Tensor, own: Tensor, x: Tensor) -> Tensor:
    """Sums over the entries of each row, and over its own where it has a weight.

    Shapes:
        - **x:** ``[columns, heads, d]``
        - **output:** ``[rows, heads * d]``
    """
    heads, width = x.shape[1:]
    if is_large(csr.num_entries * heads * width, x, weights):
        return _compiled(csr, weights, own, x)
    parts = [
        CSR(csr.indptr, csr.indices, csr.num_columns, weights[:, head].contiguous())
        for head in range(heads)
    ]
    out = torch.cat([part.matmul(x[:, head]) for head, part in enumerate(parts)], dim=1)
    count = min(own.shape[0], csr.num_rows)
    out.view(-1, heads, width)[:count].addcmul_(own[:count].unsqueeze(-1), x[:count])
    return out


def _compiled(csr: CSR, weights: Tensor, own: Tensor, x: Tensor) -> Tensor:
    from maskgae.kernels.compiled import in_threads
    from maskgae.kernels.sums import sum_heads

    out = x.new_empty(csr.num_rows, x.shape[1] * x.shape[2])
    matrix = tuple(each.contiguous().numpy() for each in (csr.indptr, csr.indices, weights, own))
    source, target = x.contiguous().numpy(), out.view(-1, *x.shape[1:]).numpy()
    in_threads(lambda part: sum_heads(matrix, source, part, target), csr.num_rows)
    return out


def _diagonal(count: int, device: torch.device) -> CSR:
    """The places of the nodes themselves."""
    numbers = torch.arange(count + 1, device=device)
    return CSR(numbers, numbers[:-1], count)
