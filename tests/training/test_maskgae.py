"""MaskGAE as a method: fit, embed, score, and the facts for the record."""

import pytest
import torch

from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.data.splits import LinkSplit
from maskgae.evaluation.method import Classifies, Embeds, Scores, Validation
from maskgae.training import FittedMaskGAE, MaskGAEMethod

pytestmark = pytest.mark.usefixtures("global_rng_untouched")

SMALL = {"encoder.hidden": 16, "encoder.dim": 8, "training.epochs": 4, "training.eval_every": 2}


def fit(graph: Graph, validation: Validation | None, **values: object) -> FittedMaskGAE:
    settings = Settings().updated(SMALL | {k.replace("__", "."): v for k, v in values.items()})
    return MaskGAEMethod(settings).fit(graph, validation, stream(0, "run"))


def test_it_offers_vectors_and_scores(
    graph: Graph, validation: Validation, split: LinkSplit
) -> None:
    fitted = fit(graph, validation)
    assert isinstance(fitted, Embeds) and isinstance(fitted, Scores)
    assert not isinstance(fitted, Classifies)
    assert fitted.embed(graph).shape == (120, 24)
    assert fitted.score(graph, split.test).shape == (split.test.shape[1],)


def test_facts_of_a_strict_run(graph: Graph, validation: Validation) -> None:
    facts = fit(graph, validation, mask__p=0.7).facts
    assert facts["hidden_share"] == pytest.approx(0.7, abs=0.05)
    assert facts["visible_targets"] == 0
    assert (facts["epochs"], facts["stopped"]) == (4, "epochs")
    assert facts["best_epoch"] in (2, 4)
    assert facts["per_epoch_s"] > 0


def test_facts_of_a_reference_run_own_up_to_visible_targets(graph: Graph) -> None:
    facts = fit(graph, None, mask__p=0.7, mask__semantics="reference").facts
    assert facts["hidden_share"] == pytest.approx(0.49, abs=0.05)
    assert facts["visible_targets"] == pytest.approx(0.3, abs=0.05)
    assert facts["best_epoch"] == -1


def test_facts_of_a_plain_autoencoder(graph: Graph) -> None:
    facts = fit(graph, None, mask__kind="none").facts
    assert (facts["hidden_share"], facts["visible_targets"]) == (0, 1)


def test_the_untrained_network_is_the_one_that_a_fit_starts_from(graph: Graph) -> None:
    method = MaskGAEMethod(Settings().updated(SMALL | {"training.lr": 1e-30}))
    before = method.untrained(graph, stream(0, "run"))
    after = method.fit(graph, None, stream(0, "run")).net
    weights = dict(after.named_parameters())
    for name, value in before.named_parameters():
        torch.testing.assert_close(weights[name], value, rtol=0, atol=1e-20)


def test_weights_follow_the_stream_not_the_settings(graph: Graph) -> None:
    name = "encoder.convs.0.lin.weight"

    def weight(seed: int, root: int) -> object:
        method = MaskGAEMethod(Settings().updated({"seed": seed}))
        return method.untrained(graph, stream(root, "run")).state_dict()[name].tolist()

    assert weight(0, 0) == weight(1, 0) != weight(0, 1)
