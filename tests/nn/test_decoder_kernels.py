"""The decoder by hand equals the decoder by autograd."""

import pytest
import torch

from maskgae.base.rng import stream
from maskgae.base.settings import DecoderConfig
from maskgae.nn.decoder_kernels import decoder_pass
from maskgae.nn.decoders import MLP, pair_decoder


def _by_autograd(decoder, x, grad, noise):
    x = x.clone().requires_grad_()
    logits = decoder(x, noise)
    parameters = list(decoder.parameters())
    grads = torch.autograd.grad(logits, [x, *parameters], grad)
    return logits.detach(), grads[0], list(grads[1:])


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("p", [0.0, 0.2, 0.8])
def test_mlp_pass_equals_autograd(layers, p):
    decoder = MLP(16, DecoderConfig(hidden=8, layers=layers, dropout=p))
    decoder.reset_parameters(torch.Generator().manual_seed(1))
    x, grad = torch.randn(50, 16), torch.randn(50)
    logits, grad_x, grads = _by_autograd(decoder, x, grad, stream(0, "noise"))
    run = decoder_pass(decoder, rows=64)
    torch.testing.assert_close(run.forward(x.clone(), stream(0, "noise")), logits)
    torch.testing.assert_close(run.backward(grad), grad_x)
    torch.testing.assert_close(run.grads, grads, rtol=1e-4, atol=1e-5)


def test_gradients_add_up_over_chunks():
    decoder = MLP(8, DecoderConfig(hidden=4, dropout=0.0))
    decoder.reset_parameters(torch.Generator().manual_seed(1))
    x, grad = torch.randn(30, 8), torch.randn(30)
    _, grad_x, grads = _by_autograd(decoder, x, grad, None)
    run, parts = decoder_pass(decoder, rows=20), []
    for rows in (slice(0, 20), slice(20, 30)):
        run.forward(x[rows].clone(), None)
        parts.append(run.backward(grad[rows]).clone())
    torch.testing.assert_close(torch.cat(parts), grad_x)
    torch.testing.assert_close(run.grads, grads, rtol=1e-4, atol=1e-5)


def test_dot_pass_equals_autograd():
    decoder = pair_decoder(8, DecoderConfig(kind="dot"))
    x, grad = torch.randn(30, 8), torch.randn(30)
    logits, grad_x, _ = _by_autograd(decoder, x, grad, None)
    run = decoder_pass(decoder, rows=30)
    torch.testing.assert_close(run.forward(x.clone(), None), logits)
    torch.testing.assert_close(run.backward(grad), grad_x)
    assert run.grads == []
