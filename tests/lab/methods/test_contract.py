"""Every baseline keeps the contract of a method; a new one adds nothing here but its name."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.data.splits import LinkSplit, split_links, split_nodes
from maskgae.datasets.generated import generate
from maskgae.evaluation.method import (
    Classifies,
    Embeds,
    Fitted,
    Scores,
    Starts,
    Validation,
    ranked_ends,
)
from maskgae.evaluation.metrics import auc
from maskgae.lab.methods import BASELINES, SUPERVISED, as_scorer

QUICK = Settings().updated(
    {"training.max_steps": 60, "encoder.hidden": 16, "encoder.dim": 8, "encoder.dropout": 0.2}
)
EMBEDDING = sorted(set(BASELINES) - set(SUPERVISED))


@pytest.fixture(scope="module")
def split() -> LinkSplit:
    """Two communities of 60 nodes, alike inside in edges and in features."""
    graph = generate(
        120, 900, num_features=16, communities=2, homophily=0.95, exponent=4.0, signal=0.7, seed=3
    )
    assert graph.labels is not None
    graph = replace(graph, node_split=split_nodes(graph.labels, Stream(0), train=0.3, val=0.2))
    return split_links(graph, 0.1, 0.1, Stream(0).at("split"))


def fit(name: str, split: LinkSplit, graph: Graph | None = None) -> Fitted:
    validation = Validation(split.val, split.val_negatives)
    return BASELINES[name](QUICK, "cpu").fit(graph or split.train, validation, Stream(0))


def outputs(fitted: Fitted, split: LinkSplit) -> list[torch.Tensor]:
    """Whatever was fitted offers, with the right shapes."""
    graph, found = split.train, []
    if isinstance(fitted, Embeds):
        found.append(fitted.embed(graph))
        assert found[-1].shape[0] == graph.num_nodes and found[-1].dim() == 2
    if isinstance(fitted, Scores):
        found.append(fitted.score(graph, split.test))
        assert found[-1].shape == (split.test.shape[1],)
        flipped = fitted.score(graph, split.test.flip(0))
        torch.testing.assert_close(flipped, found[-1], msg="a pair has one score")
    if isinstance(fitted, Classifies):
        found.append(fitted.classify(graph))
        assert found[-1].shape == (graph.num_nodes,)
    return found


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.usefixtures("global_rng_untouched")
def test_a_fit_is_finite_and_repeats_bit_by_bit(name: str, split: LinkSplit) -> None:
    first, again = (outputs(fit(name, split), split) for _ in range(2))
    assert first
    for one, other in zip(first, again, strict=True):
        assert torch.isfinite(one.double()).all()
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", EMBEDDING)
def test_links_are_found_better_than_by_chance(name: str, split: LinkSplit) -> None:
    validation = Validation(split.val, split.val_negatives)
    fitted = as_scorer(fit(name, split), split.train, validation, Stream(0))
    scores = [fitted.score(split.train, part) for part in (split.test, split.test_negatives)]
    # Half of the non-edges join equals too, so a perfect score of communities gets about 0.75.
    assert auc(*(part.numpy() for part in scores)) > 0.65


@pytest.mark.parametrize("name", EMBEDDING)
def test_an_untrained_network_has_the_shape_of_the_trained_one(name: str, split: LinkSplit) -> None:
    method, fitted = BASELINES[name](QUICK, "cpu"), fit(name, split)
    if name in ("sgc", "seal", "maskgae-frozen"):  # nothing learnt, nothing embedded, MaskGAE's
        assert not isinstance(method, Starts)
        return
    assert isinstance(method, Starts) and isinstance(fitted, Embeds)
    before = method.untrained(split.train, Stream(0))
    z, after = before.embed(split.train), fitted.embed(split.train)
    assert z.shape == after.shape and torch.isfinite(z).all()
    assert torch.equal(z, after) == (name == "untrained")
    some = torch.tensor([3, 7])
    assert torch.equal(before.embed(split.train, some), z[some])


def test_a_method_to_which_a_pair_is_dear_is_asked_for_few_ends(split: LinkSplit) -> None:
    assert ranked_ends(fit("seal", split)) == 100
    assert ranked_ends(fit("gae", split)) is None


@pytest.mark.parametrize("name", SUPERVISED)
def test_classes_are_found_and_no_test_label_is_read(name: str, split: LinkSplit) -> None:
    graph = split.train
    assert graph.labels is not None and graph.node_split is not None
    test = graph.node_split.test
    hidden = graph.labels.clone()
    hidden[test] = -1
    predicted = [
        fitted.classify(graph)
        for labels in (graph.labels, hidden)
        if isinstance(fitted := fit(name, split, replace(graph, labels=labels)), Classifies)
    ]
    assert torch.equal(*predicted)
    assert (predicted[0] == graph.labels)[test].double().mean() > 0.8


@pytest.mark.parametrize("name", SUPERVISED)
def test_a_classifier_needs_labels_and_scores_no_pairs(name: str, split: LinkSplit) -> None:
    with pytest.raises(InputError, match="needs labels and a node split"):
        fit(name, split, replace(split.train, node_split=None))
    with pytest.raises(InputError, match="evaluate it on the node task"):
        as_scorer(fit(name, split), split.train, None, Stream(0))


@pytest.mark.parametrize("name", sorted(set(BASELINES) - {"maskgae-frozen", "seal"}))
def test_a_graph_without_features_is_refused(name: str, split: LinkSplit) -> None:
    bare = replace(split.train, features=None)
    with pytest.raises(InputError, match="no features"):
        outputs(fit(name, split, bare), replace(split, train=bare))
