"""The weights of the conditional softmax are where its gradient by autograd is zero."""

import numpy as np
import pytest
import torch

from maskgae.evaluation.softmax_fit import softmax_weights


def loss_of(
    weights: torch.Tensor,
    found: torch.Tensor,
    others: torch.Tensor,
    out: torch.Tensor,
    turned: torch.Tensor | None,
) -> torch.Tensor:
    own = found.double() @ weights
    logits = (others.double() @ weights).masked_fill(out, -torch.inf)
    total = torch.logaddexp(logits.logsumexp(1), own)
    loss = (total - own).mean() + 0.005 * weights @ weights
    if turned is not None:
        loss = loss + torch.nn.functional.softplus(turned.double() @ weights).mean()
    return loss


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_the_gradient_is_zero_there(scale: float, directed: bool) -> None:
    draw = torch.Generator().manual_seed(0)
    others = scale * torch.randn(30, 400, 5, generator=draw)
    others[..., 4] = others[..., 3] + 0.01 * others[..., 4]  # two columns nearly alike
    found = scale * (torch.randn(30, 5, generator=draw) + 0.5)
    out = torch.rand(30, 400, generator=draw) < 0.1
    turned = torch.randn(30, 5, generator=draw) if directed else None
    fitted = softmax_weights(found, others, out, 0.01, turned)
    weights = torch.from_numpy(fitted).requires_grad_()
    loss_of(weights, found, others, out, turned).backward()
    assert weights.grad is not None and weights.grad.abs().max() < 1e-4 * scale


def test_candidates_that_are_none_do_not_count() -> None:
    draw = torch.Generator().manual_seed(0)
    others, found = torch.randn(10, 50, 3, generator=draw), torch.randn(10, 3, generator=draw)
    out = torch.zeros(10, 50, dtype=torch.bool)
    out[:, 40:] = True
    one = softmax_weights(found, others, out, 0.1)
    others[:, 40:] = torch.nan
    assert np.allclose(one, softmax_weights(found, others, out, 0.1))


def test_threads_do_not_change_a_bit() -> None:
    draw = torch.Generator().manual_seed(0)
    others, found = torch.randn(20, 90, 3, generator=draw), torch.randn(20, 3, generator=draw)
    out, before = torch.zeros(20, 90, dtype=torch.bool), torch.get_num_threads()
    answers = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        answers.append(softmax_weights(found, others, out, 0.1).tolist())
    torch.set_num_threads(before)
    assert answers[0] == answers[1]


def test_where_it_begins_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    from maskgae.evaluation import softmax_fit

    draw = torch.Generator().manual_seed(0)
    others, found = torch.randn(20, 90, 3, generator=draw), torch.randn(20, 3, generator=draw)
    given = (found, others, torch.zeros(20, 90, dtype=torch.bool), 0.1)
    one = softmax_weights(*given)
    monkeypatch.setattr(softmax_fit, "MANY", 50)
    assert softmax_weights(*given) == pytest.approx(one, abs=1e-5)
    assert softmax_weights(*given, start=np.full(3, 2.0)) == pytest.approx(one, abs=1e-5)
