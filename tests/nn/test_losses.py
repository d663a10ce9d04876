"""Losses: closed forms, gradients, and chunks that change nothing."""

import math

import pytest
import torch
from torch import Tensor, nn

from maskgae.base.rng import stream
from maskgae.base.settings import DecoderConfig, ObjectiveConfig
from maskgae.nn import MLP, Dot
from maskgae.nn import losses as objective
from maskgae.nn.losses import LOSSES, degree_loss, loss_of, pair_logits, pair_loss

pytestmark = pytest.mark.usefixtures("global_rng_untouched")


def doubles(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


# One target with logit 2 and two negatives with logits -1 and 1.5.
CLOSED_FORMS = {
    "bce": softplus(-2) + (softplus(-1) + softplus(1.5)) / 2,
    "auc": ((1 - 2 - 1) ** 2 + (1 - 2 + 1.5) ** 2) / 2,
    "info_nce": -math.log(math.exp(2) / (math.exp(2) + math.exp(-1) + math.exp(1.5))),
    # One negative keeps one end and one the other.
    "softmax": (softplus(-1 - 2) + softplus(1.5 - 2)) / 2,
}


def test_every_loss_has_a_closed_form() -> None:
    assert CLOSED_FORMS.keys() == LOSSES.keys()


@pytest.mark.parametrize("name", LOSSES)
def test_values_equal_the_closed_form(name: str) -> None:
    value = LOSSES[name](doubles(2, 2), doubles(-1, 1.5, -1, 1.5).view(2, 2))
    assert value.tolist() == pytest.approx([CLOSED_FORMS[name]] * 2, rel=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_those_of_the_value(name: str) -> None:
    positive = doubles(2, -0.3, 0.7).requires_grad_()
    negative = doubles(-1, 1.5, 0.2, 0.4, -2, 3).view(3, 2).requires_grad_()
    assert torch.autograd.gradcheck(LOSSES[name], (positive, negative))


# Gradients with respect to the target's logit and the negative's, of a single negative each.
FAR = {
    "bce": {(50, -50): (0, 0), (-50, 50): (-1, 1)},
    "auc": {(50, -50): (198, -198), (-50, 50): (-202, 202)},
    "info_nce": {(50, -50): (0, 0), (-50, 50): (-1, 1)},
    "softmax": {(50, -50): (0, 0), (-50, 50): (-1, 1)},
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("logits", [(50, -50), (-50, 50)])
def test_far_logits_give_finite_values_and_the_right_gradient(
    name: str, logits: tuple[float, float]
) -> None:
    positive = torch.tensor([float(logits[0])], requires_grad=True)
    negative = torch.tensor([[float(logits[1])]], requires_grad=True)
    value = LOSSES[name](positive, negative)
    value.sum().backward()
    assert value.isfinite().all() and bool((value >= 0).all())
    assert positive.grad is not None and negative.grad is not None
    found = positive.grad.item(), negative.grad.item()
    assert found == pytest.approx(FAR[name][logits], abs=1e-9)


def test_softmax_asks_from_each_end_apart() -> None:
    # From the first end against logits 0 and 1, from the second against 3 and 4.
    value = LOSSES["softmax"](doubles(2), doubles(0, 1, 3, 4).view(1, 4)).item()
    first = math.log(math.exp(2) + math.exp(0) + math.exp(1)) - 2
    second = math.log(math.exp(2) + math.exp(3) + math.exp(4)) - 2
    assert value == pytest.approx((first + second) / 2, rel=1e-12)


def test_temperature_divides_the_logits() -> None:
    config = ObjectiveConfig(loss="softmax", temperature=0.5)
    value = loss_of(config)(doubles(1), doubles(-0.5, 0.75).view(1, 2)).item()
    assert value == pytest.approx(CLOSED_FORMS["softmax"], rel=1e-12)
    assert loss_of(ObjectiveConfig()) is LOSSES["bce"]


def test_degree_loss_is_the_mean_square() -> None:
    assert degree_loss(doubles(1, 2, 4), torch.tensor([1, 0, 1])).item() == (0 + 4 + 9) / 3


class Case:
    """Twelve nodes, nine targets, ``k`` negatives each, in float64."""

    def __init__(self, decoder: str, negatives: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.z = torch.randn(12, 3, dtype=torch.float64, generator=generator)
        self.targets = torch.randint(0, 12, (2, 9), generator=generator)
        self.negatives = torch.randint(0, 12, (2, 9 * negatives), generator=generator)
        self.decoder: nn.Module = Dot()
        if decoder == "mlp":
            self.decoder = MLP(3, DecoderConfig(hidden=4, dropout=0.5)).double()
            self.decoder.reset_parameters(generator)

    def plain(self, z: Tensor, loss: str) -> Tensor:
        """The same loss without chunks and without tricks."""
        positive, negative = (
            self.decoder(z[pairs[0]] * z[pairs[1]]) for pairs in (self.targets, self.negatives)
        )
        return LOSSES[loss](positive, negative.view(9, -1)).mean()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("decoder", ["mlp", "dot"])
@pytest.mark.parametrize("negatives", [1, 3, 4])
@pytest.mark.parametrize("chunk", [1, 30, 2**20])
def test_chunks_equal_plain_autograd(
    monkeypatch: pytest.MonkeyPatch, loss: str, decoder: str, negatives: int, chunk: int
) -> None:
    monkeypatch.setattr(objective, "CACHE_NUMBERS", chunk)
    case = Case(decoder, negatives)
    z = case.z.requires_grad_()
    inputs = [z, *case.decoder.parameters()]
    ours = pair_loss(z, case.decoder, case.targets, case.negatives, LOSSES[loss], None)
    plain = case.plain(z, loss)
    torch.testing.assert_close(ours, plain)
    # Scaled, as a term of a larger loss would be.
    for found, expected in zip(
        torch.autograd.grad(3 * ours, inputs), torch.autograd.grad(3 * plain, inputs), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_threads_share_the_chunks_and_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objective, "CACHE_NUMBERS", 1)
    case = Case("mlp", 3)
    inputs = [case.z.requires_grad_(), *case.decoder.parameters()]
    found, before = [], torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        arguments = (case.decoder, case.targets, case.negatives, LOSSES["bce"], stream(0, "noise"))
        loss = pair_loss(case.z, *arguments)
        found.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, inputs)]))
    torch.set_num_threads(before)
    assert torch.equal(*found)


def test_dropout_of_the_decoder_comes_from_the_stream() -> None:
    case = Case("mlp", 1)

    def value(epoch: int | None) -> float:
        noise = None if epoch is None else stream(0, "noise", epoch)
        arguments = (case.decoder, case.targets, case.negatives, LOSSES["bce"], noise)
        return pair_loss(case.z, *arguments).item()

    assert value(1) == value(1) != value(2)
    assert value(1) != value(None)


@pytest.mark.parametrize("chunk", [1, 7, 2**20])
def test_pair_logits_by_chunks(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(objective, "CACHE_NUMBERS", chunk)
    case = Case("mlp", 1)
    u, v = case.targets
    logits = pair_logits(case.z.requires_grad_(), case.decoder, case.targets)
    torch.testing.assert_close(logits, case.decoder(case.z[u] * case.z[v]).detach())
    assert not logits.requires_grad
    assert pair_logits(case.z, case.decoder, case.targets[:, :0]).shape == (0,)
    assert pair_logits(case.z, case.decoder, case.targets.flip(0)).equal(logits)
