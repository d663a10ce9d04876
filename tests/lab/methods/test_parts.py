"""The parts that baselines share, on graphs and numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from maskgae.base.errors import RunError
from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.lab.methods.autoencoders import Autoencoder, AutoencoderConfig, _InnerProduct
from maskgae.lab.methods.layers import AttentionDropout, Dense, Stack, View
from maskgae.lab.methods.loop import Figure, Loop, Recipe
from maskgae.lab.methods.scorer import FittedScorer, WithScores, as_scorer
from maskgae.lab.methods.sgc import SGC
from maskgae.nn import entries
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.attention import weighted_sum
from maskgae.nn.convs import GCNConv

PATH = Graph.from_edges([(0, 1), (1, 2), (2, 3)], features=torch.eye(4))


class Number(nn.Module):
    """One parameter, moved by its own gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.zeros(()))


def test_the_loop_keeps_the_best_weights_and_stops_after_the_patience() -> None:
    number, seen = Number(), []

    def judge() -> Figure:
        seen.append(number.value.item())
        return (-abs(number.value.item() - 0.5),)

    facts = Loop(number, Recipe(100, lr=0.1, patience=3), lambda _: -number.value, judge).run()
    # Adam's steps are 0.1 each: 0.5 is met after the fifth.
    assert (facts["best_epoch"], facts["epochs"], facts["stopped"]) == (5, 8, "patience")
    assert number.value.item() == pytest.approx(0.5, abs=1e-5)
    assert seen == pytest.approx([0.1 * step for step in range(1, 9)], abs=1e-5)


def test_without_validation_the_last_weights_stay() -> None:
    number = Number()
    facts = Loop(number, Recipe(4, lr=0.1), lambda _: -number.value).run()
    assert (facts["best_epoch"], facts["stopped"]) == (4, "epochs")
    assert number.value.item() == pytest.approx(0.4, abs=1e-5)


def test_a_schedule_scales_the_learning_rate_of_each_epoch() -> None:
    number = Number()
    shares = [0.0, 1.0, 0.5]
    Loop(number, Recipe(3, lr=0.1), lambda _: -number.value, schedule=shares.__getitem__).run()
    assert number.value.item() == pytest.approx(0.15, abs=1e-5)


def test_a_clipped_part_has_a_gradient_of_length_one() -> None:
    number, other = Number(), Number()
    both = nn.ModuleList([number, other])
    update = lambda _: -5 * number.value - 5 * other.value  # noqa: E731
    Loop(both, Recipe(1, lr=0.1), update, clipped=[number]).run()
    assert number.value.grad is not None and other.value.grad is not None
    assert [number.value.grad.item(), other.value.grad.item()] == pytest.approx([-1, -5], abs=1e-5)


def test_decay_apart_from_the_gradient_is_adamw() -> None:
    number = Number()
    nn.init.ones_(number.value)
    recipe = Recipe(1, lr=0.1, weight_decay=0.5, patience=0, decoupled=True)
    Loop(number, recipe, lambda _: 0 * number.value).run()
    assert number.value.item() == pytest.approx(1 - 0.1 * 0.5)
    assert str(recipe) == "AdamW 0.1, weight decay 0.5, 1 epochs"


def test_equal_first_figures_are_told_apart_by_the_second() -> None:
    number, figures = Number(), iter([(0.5, -3.0), (0.5, -1.0), (0.5, -2.0)])
    loop = Loop(number, Recipe(3, lr=0.1), lambda _: -number.value, lambda: next(figures))
    assert loop.run()["best_epoch"] == 2


def test_a_loss_that_is_no_number_is_an_error() -> None:
    number = Number()
    with pytest.raises(RunError, match="diverged in epoch 0"):
        Loop(number, Recipe(3, lr=0.1), lambda _: number.value / 0 * 0).run()


def test_a_stack_activates_between_its_layers_only() -> None:
    first, second = Dense(4, 2), Dense(2, 1)
    stack = Stack([first, second], stream(0))
    first.lin.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [2.0, -1.0]])
    second.lin.weight.data = torch.tensor([[1.0], [-1.0]])
    # The third row is cut to zero between the layers, the second is not after the last.
    assert stack(View.of(PATH, "cpu")).tolist() == [[1.0], [-1.0], [0.0], [2.0]]


def test_a_stack_is_drawn_again_to_the_same_weights() -> None:
    stack = Stack([GCNConv(4, 3)], stream(0))
    before = {key: value.clone() for key, value in stack.state_dict().items()}
    stack.reset_parameters()
    assert all(torch.equal(value, before[key]) for key, value in stack.state_dict().items())


def test_attention_is_dropped_or_scaled_up() -> None:
    star = Adjacency.of(Graph.from_edges([(0, i) for i in range(1, 200)]))
    dropped = AttentionDropout(star, 0.5, stream(0))
    entries, own = dropped.attention(torch.ones(star.csr.num_entries, 1), torch.ones(200, 1))
    out = weighted_sum(torch.ones(200, 1, 1), entries, torch.zeros(200, 1), dropped).reshape(-1)
    assert set(out[1:].tolist()) == {0.0, 2.0}
    assert 140 < out[0].item() < 260
    assert set(own.flatten().tolist()) == {0.0, 2.0}
    assert not torch.equal(own[1:], entries[star.csr.indices == 0])  # a draw of its own


def test_inner_products_have_the_same_gradient_with_and_without_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = stream(0).torch()
    z = torch.randn(9, 4, generator=generator, requires_grad=True)
    pairs = torch.tensor([[0, 0, 2, 5], [3, 8, 4, 8]])
    found = []
    for many in (1, 10**9):
        monkeypatch.setattr(entries, "MANY", many)
        logits = _InnerProduct()(z, pairs, sigmoid=False)
        found.append((logits, *torch.autograd.grad(logits.square().sum(), [z])))
    for compiled, plain in zip(*found, strict=True):
        torch.testing.assert_close(compiled, plain)


def test_the_variational_encoder_gives_its_means_when_it_is_done() -> None:
    config = AutoencoderConfig(epochs=3)
    fitted = Autoencoder(True, False, config).fit(PATH, None, stream(0))
    assert fitted.embed(PATH).shape == (4, 16)
    assert torch.equal(fitted.embed(PATH), fitted.embed(PATH))


def test_a_scorer_is_put_on_what_only_embeds() -> None:
    scored = WithScores(SGC()).fit(PATH, None, stream(0))
    wrapped = WithScores(SGC(), anew=True).fit(PATH, None, stream(0))
    pairs = torch.tensor([[0, 0], [1, 3]])
    assert torch.equal(scored.score(PATH, pairs), wrapped.score(PATH, pairs))
    assert as_scorer(wrapped, PATH, None, stream(0)) is wrapped


def test_a_scorer_is_blind_to_scale_and_to_constant_columns() -> None:
    class Shifted(SGC):
        def embed(self, graph: Graph) -> Tensor:
            z = super().embed(graph)
            return torch.cat([8 * z, torch.full((graph.num_nodes, 1), 3.0)], dim=1)

    fitted = WithScores(Shifted()).fit(PATH, None, stream(0))
    assert isinstance(fitted, FittedScorer)
    assert fitted.scale[-1] == 0
    z = (fitted.embed(PATH) - fitted.centre) * fitted.scale
    torch.testing.assert_close(z[:, :4].std(0, correction=0), torch.ones(4))
