"""A wide layer in one pass equals autograd's through the plain operations."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from maskgae.base.rng import stream
from maskgae.base.settings import EncoderConfig
from maskgae.data import Graph, as_features
from maskgae.nn import Encoder, Sampler, encoder, wide
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.wide import Spare, WideLayer

pytestmark = pytest.mark.usefixtures("global_rng_untouched")


def parts() -> tuple[Tensor, Tensor, nn.BatchNorm1d, Tensor]:
    """Rows far off their mean, weights, batch normalisation that is not the identity, a goal."""
    generator = stream(0).torch()
    x, weight = (torch.randn(*shape, generator=generator) for shape in ((50, 6), (6, 9)))
    norm = nn.BatchNorm1d(9)
    nn.init.uniform_(norm.weight, 0.5, 2, generator=generator)
    nn.init.normal_(norm.bias, generator=generator)
    return x + 3, weight.requires_grad_(), norm, torch.randn(50, 9, generator=generator)


def gradients(out: Tensor, goal: Tensor, weight: Tensor, norm: nn.Module) -> list[Tensor]:
    return list(torch.autograd.grad((out * goal).sum(), [weight, *norm.parameters()]))


@pytest.mark.parametrize("block", [2**18, 63])
@pytest.mark.parametrize("p", [0.0, 0.4])
def test_outputs_and_gradients(p: float, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide, "BLOCK", block)
    x, weight, norm, goal = parts()
    out = WideLayer(x, weight, norm, p, stream(1)).dense()
    remembered = [value.clone() for value in norm.buffers()]
    found = gradients(out, goal, weight, norm)
    norm.reset_running_stats()
    plain = nn.functional.elu(norm(x @ weight))
    if p:
        dropped = out == 0
        assert 0.2 < float(dropped.float().mean()) < 0.6
        plain = plain * ~dropped * (256 / round(256 * (1 - p)))
    torch.testing.assert_close(out, plain, atol=1e-5, rtol=1e-4)
    for ours, theirs in zip(remembered, norm.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)
    for ours, theirs in zip(found, gradients(plain, goal, weight, norm), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_the_encoder_takes_it_where_a_layer_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = stream(0).numpy()
    graph = Graph.from_edges(rng.integers(300, size=(2, 2000)), 300)
    x = as_features(rng.normal(size=(300, 5)))
    config = EncoderConfig(layers=2, hidden=16, dim=8, dropout=0.0)
    net = Encoder(5, config)
    net.reset_parameters(stream(1).torch())
    cut = Sampler(graph).blocks(torch.arange(10), [3, 3], stream(2))
    views = (cut.nodes, cut.adjacencies), (torch.arange(300), [Adjacency.of(graph)] * 2)
    for nodes, adjacencies in views:
        expected = net(x.rows(nodes), adjacencies, stream(3))[-1]
        assert net.last(x.rows(nodes), adjacencies, stream(3)).equal(expected)
        wanted = torch.autograd.grad(expected.square().sum(), list(net.parameters()))
        with monkeypatch.context() as patch:
            patch.setattr(encoder, "LARGE", 0)
            out = net.last(x.rows(nodes), adjacencies, stream(3))
        assert not out.equal(expected)
        torch.testing.assert_close(out, expected, atol=1e-4, rtol=1e-4)
        found = torch.autograd.grad(out.square().sum(), list(net.parameters()))
        for ours, theirs in zip(found, wanted, strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("symmetric", [True, False])
def test_sums_over_neighbours_in_the_same_pass(
    symmetric: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wide, "BLOCK", 63)
    x, weight, norm, _ = parts()
    graph = Graph.from_edges(stream(2).numpy().integers(50, size=(2, 120)), 50)
    adjacency = Adjacency.of(graph)
    if not symmetric:
        adjacency = Sampler(graph).blocks(torch.arange(50), [2], stream(3)).adjacencies[0]
    goal, spare = torch.randn(50, 9, generator=stream(4).torch()), Spare()
    for _ in range(2):  # the second time in the memory of the first
        layer = WideLayer(x, weight, norm, 0.4, stream(1), spare)
        found = layer.around(adjacency)
        expected = adjacency.normalized(layer.dense())
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
        ours = gradients(found, goal, weight, norm)
        theirs = gradients(expected, goal, weight, norm)
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_spare_memory_is_given_once_and_gone_when_training_ends() -> None:
    spare = Spare()
    first = spare.take(3, 4)
    place = first.data_ptr()
    assert spare.take(3, 4).data_ptr() != place  # the first is still in use
    spare.give(first)
    assert spare.take(2, 5).data_ptr() == place
    net = Encoder(5, EncoderConfig())
    net.spare.give(first)
    net.eval()
    assert net.spare.take(3, 4).data_ptr() != place


def test_what_is_not_a_number_stays_so() -> None:
    x, weight, norm, _ = parts()
    x[3] = torch.nan
    assert WideLayer(x, weight, norm, 0.0, None).dense().isnan().all()


def test_the_exponential_is_exact_to_a_few_bits() -> None:
    from maskgae.kernels.activations import shifted_elu

    y = torch.linspace(-120, 5, 2**16).view(256, 256)
    out = y.clone()
    shifted_elu(out.numpy(), torch.zeros(256).numpy(), None, 256, 1.0)
    torch.testing.assert_close(out.double(), nn.functional.elu(y.double()), atol=0, rtol=2e-7)
