import pytest
import torch
from torch import nn

from maskgae.nn import activations
from maskgae.nn.activations import ELU, PReLU, activation


def test_elu_equals_torch(monkeypatch):
    monkeypatch.setattr(activations, "BLOCK", 7)
    x = torch.randn(5, 9) * 3
    mine, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    # A layer's output is never a leaf; an in-place function asks for that.
    out, expected = ELU()(mine * 1), nn.ELU()(theirs)
    torch.testing.assert_close(out, expected)
    weights = torch.randn(5, 9)
    (out * weights).sum().backward()
    (expected * weights).sum().backward()
    torch.testing.assert_close(mine.grad, theirs.grad)


def test_elu_keeps_nan_and_takes_other_types():
    assert ELU()(torch.tensor([float("nan"), -1.0])).isnan().tolist() == [True, False]
    assert ELU()(torch.tensor([-1.0], dtype=torch.float64)).dtype == torch.float64
    assert ELU()(torch.zeros(0, 4)).shape == (0, 4)


@pytest.mark.parametrize("kind", ["elu", "relu", "prelu", "none"])
def test_every_named_activation_keeps_what_is_positive(kind):
    assert activation(kind)(torch.tensor([1.5])).item() == 1.5


@pytest.mark.parametrize("shape", [(1, 1), (70, 33), (2708, 64)])
def test_prelu_and_its_gradients_are_torchs_to_the_bit(shape):
    x, grad = (torch.randn(shape, generator=torch.Generator().manual_seed(n)) for n in (0, 1))
    x[0, 0] = 0
    found = []
    for unit in (PReLU(), torch.nn.PReLU()):
        entries = x.clone().requires_grad_()
        out = unit(entries)
        found.append((out, *torch.autograd.grad(out, (entries, unit.weight), grad)))
    assert all(torch.equal(*each) for each in zip(*found, strict=True))


def test_prelu_takes_other_types_shapes_and_slopes():
    assert PReLU().double()(torch.tensor([[-1.0]], dtype=torch.float64)).item() == -0.25
    assert PReLU()(torch.tensor([-1.0])).item() == -0.25
    assert PReLU(2)(torch.tensor([[-1.0, 1.0]])).tolist() == [[-0.25, 1.0]]
