"""GMI's loss is its equation, with its gradient."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lab.methods.six_nodes import adjacency, double, drawn, falls, log1pexp, normalized
from maskgae.base.rng import stream
from maskgae.lab.methods.gmi import GMI, GMIConfig, others, structure_loss
from maskgae.nn.convs import GCNConv


def sigmoid(x: Tensor) -> Tensor:
    return 1 / (1 + (-x).exp())


def prelu(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, 0.25 * x)


#: A node's own row, the target it is scored with, and others' rows.
Scored = tuple[Tensor, Tensor, list[Tensor]]


def mutual(net: GMI, pairs: list[Scored], m: Tensor, c: Tensor) -> Tensor:
    """Own rows against others', each scored with the node's target."""
    last = sigmoid if net.config.squash == "twice" else lambda x: x
    real = [log1pexp(-last(own @ m @ target + c)) for own, target, _ in pairs]
    fake = [log1pexp(last(o @ m @ target + c)) for _, target, rest in pairs for o in rest]
    return torch.stack(real).mean() + torch.stack(fake).mean()


def edges(h: Tensor) -> Tensor:
    t = adjacency() + torch.eye(6)
    e = t.sum() / 2
    total = torch.zeros(())
    for i in range(6):
        for j in range(6):
            p = sigmoid(h[i] @ h[j])
            total = total - (36 - e) / e * t[i, j] * p.log() - (1 - t[i, j]) * (1 - p).log()
    return total / (36 - e)


def looped(net: GMI, x: Tensor) -> Tensor:
    a, weights = normalized(adjacency()), net.first.lin.weight
    h = x
    for conv in (net.first, *net.rest):
        assert isinstance(conv, GCNConv)
        h = prelu(a @ (h @ conv.lin.weight) + conv.bias)
    target = []
    for i in range(6):
        near = [x[j] @ weights for j in range(6) if adjacency()[i, j]]
        target.append(prelu(sum(near, torch.zeros(3)) / max(1, len(near))))
    pi, pi_2 = (others(6, 5, stream(1).at(name)) for name in ("features", "neighbours"))
    first = [(x[i], h[i], [x[k] for k in pi[:, i]]) for i in range(6)]
    second = [(h[i], target[i], [h[k] for k in pi_2[:, i]]) for i in range(6)]
    return (
        0.8 * mutual(net, first, net.features.weight, net.features.bias)
        + mutual(net, second, net.neighbours.weight, net.neighbours.bias)
        + edges(h)
    )


@pytest.mark.parametrize(("layers", "squash"), [(1, "twice"), (2, "twice"), (2, "once")])
def test_the_loss_is_its_equation_and_falls(layers: int, squash: str) -> None:
    with double() as view:
        net = drawn(GMI(4, GMIConfig(dim=3, layers=layers, squash=squash)))
        found, expected = net.loss(view, stream(1)), looped(net, view.x.dense())
        torch.testing.assert_close(found, expected)
        # The loop has its slopes fixed.
        kept = [p for name, p in net.named_parameters() if "activation" not in name]
        for one, other in zip(
            torch.autograd.grad(found, kept), torch.autograd.grad(expected, kept), strict=True
        ):
            torch.testing.assert_close(one, other)
        assert falls(net, view)


def test_random_nodes_are_others() -> None:
    drawn_nodes = others(6, 50, stream(0))
    assert not (drawn_nodes == torch.arange(6)).any()
    assert set(drawn_nodes[:, 0].tolist()) == {1, 2, 3, 4, 5}


def test_a_sample_of_nodes_gives_the_loss_on_average() -> None:
    with double() as view:
        h = torch.randn(6, 3, generator=stream(0).torch())
        csr = view.adjacency.csr
        triples = torch.combinations(torch.arange(6), 3)
        mean = torch.stack([structure_loss(h, csr, nodes) for nodes in triples]).mean()
        torch.testing.assert_close(mean, edges(h))
