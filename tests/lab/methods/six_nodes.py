"""A graph of six nodes in float64, for losses that are checked against plain loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor

from maskgae.base.rng import Stream, stream
from maskgae.data import Graph
from maskgae.data.features import DenseFeatures
from maskgae.lab.methods.layers import View
from maskgae.lab.methods.pretraining import Pretext
from maskgae.nn.adjacency import Adjacency

Net = TypeVar("Net", bound=Pretext)

EDGES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]  # node 5 stands alone


@contextmanager
def double() -> Iterator[View]:
    """The graph, inside a block where new tensors are of float64."""
    torch.set_default_dtype(torch.float64)
    try:
        x = torch.rand(6, 4, generator=stream(7).torch())
        graph = Graph.from_edges(EDGES, num_nodes=6)
        yield View(DenseFeatures(x / x.sum(1, keepdim=True)), Adjacency.of(graph))
    finally:
        torch.set_default_dtype(torch.float32)


def drawn(net: Net) -> Net:
    """The network with weights from a stream, and biases that are not zero."""
    generator = stream(0).torch()
    net.reset_parameters(generator)
    for name, parameter in net.named_parameters():
        if name.endswith("bias"):
            parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
    return net.double()


def adjacency() -> Tensor:
    """A, without self-loops."""
    a = torch.zeros(6, 6)
    for u, v in EDGES:
        a[u, v] = a[v, u] = 1
    return a


def normalized(a: Tensor) -> Tensor:
    """D^-1/2 (A + I) D^-1/2, entry by entry."""
    looped = a + torch.eye(6)
    degree = looped.sum(1)
    out = torch.zeros(6, 6)
    for i in range(6):
        for j in range(6):
            out[i, j] = looped[i, j] / (degree[i] * degree[j]).sqrt()
    return out


def falls(net: Pretext, view: View, steps: int = 30, lr: float = 0.02) -> bool:
    """Whether some steps of Adam lower the loss of the same draws."""
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    losses = []
    for _ in range(steps):
        loss = net.loss(view, Stream(1))
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())
    return losses[-1] < losses[0]


def log1pexp(x: Tensor) -> Tensor:
    return (1 + x.exp()).log()
