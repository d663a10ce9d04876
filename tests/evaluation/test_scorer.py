"""The scorer: weights that a plain softmax would find, shares that add up, and when it is used."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.data.splits import LinkSplit, joined, split_links
from maskgae.datasets.generated import generate
from maskgae.evaluation import scorer_fit
from maskgae.evaluation.method import Validation
from maskgae.evaluation.ranking import full_ranking
from maskgae.evaluation.rules import Rules
from maskgae.evaluation.scorer import (
    NETWORK,
    OF_LOW_RANK,
    Columns,
    PairScorer,
    Scorer,
    combined_rules,
)
from maskgae.evaluation.scorer_fit import Queries, _mean_and_spread, fit_scorer, platt

pytestmark = pytest.mark.usefixtures("global_rng_untouched")

PATH = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)])


class Table:
    """A network whose logits are written down."""

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits

    def pairs(self, pairs: Tensor) -> Tensor:
        return self.logits[pairs[0], pairs[1]]

    def rows(self, nodes: Tensor) -> Tensor:
        return self.logits[nodes]


def symmetric(nodes: int, seed: int = 0) -> Tensor:
    logits = torch.randn(nodes, nodes, generator=torch.Generator().manual_seed(seed))
    return logits + logits.T


@pytest.fixture(scope="module")
def split() -> LinkSplit:
    graph = generate(200, 1500, num_features=16, communities=4, seed=1)
    return split_links(graph, 0.2, 0.1, stream(0, "split"))


def known(split: LinkSplit) -> Graph:
    return joined(split.train, split.val, None)


def validation(split: LinkSplit, pairs: int | None = None) -> Validation:
    return Validation(split.val[:, :pairs], split.val_negatives[:, :pairs])


def test_a_score_worked_out_by_hand() -> None:
    scorer = Scorer(
        (NETWORK, "resource_allocation", "degree_product"),
        mean=(1.0, 0.5, 0.0),
        spread=(2.0, 0.25, 1.0),
        weights=(3.0, 1.0, -1.0),
    )
    ours = PairScorer.of(scorer, PATH, Table(torch.full((5, 5), 7.0)))
    # 0 and 2 share 1, of degree 2; their degrees are 1 and 2.
    pair = torch.tensor([[0], [2]])
    terms = [3 * (7 - 1) / 2, (0.5**0.5 - 0.5) / 0.25, -np.log1p(2)]
    shares = ours.shares(pair)
    assert [shares[name].item() for name in scorer.columns] == pytest.approx(terms, rel=1e-6)
    assert ours.pairs(pair).item() == pytest.approx(sum(terms), rel=1e-6)


def test_rows_pairs_and_shares_agree_and_are_symmetric(split: LinkSplit) -> None:
    scorer = fit_scorer(
        Columns.of(split.train, Table(symmetric(200))), validation(split), known(split), stream(0)
    )
    ours = PairScorer.of(scorer, split.train, Table(symmetric(200)))
    assert ours.columns.names == scorer.columns
    nodes = torch.tensor([3, 150])
    pairs = torch.stack([nodes.repeat_interleave(200), torch.arange(200).repeat(2)])
    other = (pairs[0] != pairs[1]) & ~split.train.contains(pairs)
    scores = ours.pairs(pairs)
    torch.testing.assert_close(ours.rows(nodes).flatten()[other], scores[other], atol=1e-4, rtol=0)
    torch.testing.assert_close(ours.pairs(pairs.flip(0)), scores, atol=1e-4, rtol=0)
    total = torch.stack(list(ours.shares(pairs).values())).sum(0)
    torch.testing.assert_close(total, scores, atol=1e-5, rtol=0)


def test_the_statistics_are_those_of_all_candidates() -> None:
    # From 0, known to 1, partner 3: candidates 2 and 4; from 3, known to 2 and 4: candidate 1.
    held_out = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (0, 3)])
    logits = symmetric(5)
    columns = Columns(Rules(PATH, ["common_neighbours"]), Table(logits))
    queries = Queries.of(columns, torch.tensor([[0], [3]]), held_out, stream(0))
    candidates = torch.tensor([logits[0, 2], logits[0, 4], logits[3, 1]]).double()
    assert queries.mean[0].item() == pytest.approx(candidates.mean().item(), rel=1e-5)
    assert queries.spread[0].item() == pytest.approx(candidates.std().item(), rel=1e-5)
    assert queries.mean[1].item() == pytest.approx(2 * np.log(2) / 3)
    assert (~queries.left_out).sum(1).tolist() == [2, 1]


def test_weights_are_those_of_a_plain_softmax(split: LinkSplit) -> None:
    columns = Columns.of(split.train, Table(symmetric(200)))
    queries = Queries.of(columns, split.val, known(split), stream(0))
    weights = torch.from_numpy(queries.fitted(np.arange(queries.count))).requires_grad_()
    others = (queries.others.double() @ weights).masked_fill(queries.left_out, -torch.inf)
    own = queries.found.double() @ weights
    joint = torch.cat([own.unsqueeze(1), others], dim=1)
    decay = scorer_fit.WEIGHT_DECAY / queries.count
    loss = (joint.logsumexp(1) - own).mean() + decay / 2 * weights @ weights
    (gradient,) = torch.autograd.grad(loss, [weights])
    assert gradient.abs().max() < 2e-3  # convex: no gradient, nothing better
    assert loss.item() < np.log(200)


def test_ranks_within_are_those_of_a_full_ranking(split: LinkSplit) -> None:
    scorer = fit_scorer(Columns.of(split.train), validation(split), known(split), stream(0))
    queries = Queries.of(Columns.of(split.train), split.val, known(split), stream(0))
    assert queries.count == 2 * split.val.shape[1]
    ours = PairScorer.of(scorer, split.train)
    full = full_ranking(ours.rows, split.val, known(split), stream(0)).metrics()["rank_mrr"]
    within = queries.rank_mrr(np.array(scorer.weights), np.arange(queries.count))
    assert within == pytest.approx(full, rel=1e-3)


def test_a_network_that_knows_the_answer_is_left_alone(split: LinkSplit) -> None:
    logits = torch.zeros(200, 200)
    logits[split.val[0], split.val[1]] = logits[split.val[1], split.val[0]] = 5.0
    columns = Columns.of(split.train, Table(logits))
    scorer = fit_scorer(columns, validation(split), known(split), stream(0))
    assert scorer.kind == NETWORK and scorer.facts[NETWORK] == 1.0
    bare = PairScorer.of(scorer, split.train, Table(logits))
    assert bare.pairs(split.val).eq(5).all() and bare.probability(split.val).min() > 0.9
    assert bare.probability(split.val_negatives).max() < 0.5


def test_a_network_that_knows_nothing_is_helped(split: LinkSplit) -> None:
    columns = Columns.of(split.train, Table(symmetric(200)))
    scorer = fit_scorer(columns, validation(split), known(split), stream(0))
    assert scorer.kind == "combined"
    assert scorer.facts["combined"] > 1.5 * scorer.facts[NETWORK]
    assert abs(scorer.weights[0]) < 0.3 < np.abs(scorer.weights).max()


def test_few_pairs_get_fixed_weights(split: LinkSplit) -> None:
    columns = Columns.of(split.train, Table(symmetric(200)))
    scorer = fit_scorer(columns, validation(split, 99), known(split), stream(0))
    found = dict(zip(scorer.columns, scorer.weights, strict=True))
    assert {name: weight for name, weight in found.items() if weight} == scorer_fit.FIXED
    assert scorer.facts["fixed"]


def test_large_graphs_are_fitted_on_a_sample_of_candidates(
    split: LinkSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer_fit, "EXACT_NODES", 100)
    monkeypatch.setattr(scorer_fit, "QUERIES", 50)
    monkeypatch.setattr(scorer_fit, "MOST_NUMBERS", 50 * 60 * 9)
    queries = Queries.of(Columns.of(split.train), split.val, known(split), stream(0))
    assert queries.others.shape == (50, 60, 9)
    again = Queries.of(Columns.of(split.train), split.val, known(split), stream(0))
    assert queries.others.equal(again.others)


def test_it_comes_back_from_json(split: LinkSplit) -> None:
    scorer = fit_scorer(Columns.of(split.train), validation(split), known(split), stream(0))
    assert Scorer.from_json(scorer.to_json()) == scorer
    assert json.loads(scorer.to_json())["kind"] == "combined"
    document = json.loads(scorer.to_json())
    count = len(document["columns"])
    for text in (
        "{",
        "[]",
        '{"kind": "network"}',
        scorer.to_json().replace('"mean": [', '"mean": [1,'),
        json.dumps(document | {"spread": [{}] * count}),
        json.dumps(document | {"spread": [0] * count}),
        json.dumps(document | {"mean": [10**400] * count}),
        json.dumps(document | {"calibration": [1]}),
        json.dumps(document | {"facts": []}),
    ):
        with pytest.raises(InputError, match="this is no scorer"):
            Scorer.from_json(text)


def test_platt_finds_the_line_that_made_the_labels() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(3.0, 5.0, 20_000)
    edge = random.random(20_000) < 1 / (1 + np.exp(-(0.7 * scores - 2.0)))
    slope, intercept = platt(scores[edge], scores[~edge])
    assert (slope, intercept) == (pytest.approx(0.7, abs=0.03), pytest.approx(-2.0, abs=0.1))


def test_columns_are_measured_over_all_candidates() -> None:
    draw = torch.Generator().manual_seed(0)
    others = torch.randn(7, 40, 3, generator=draw) * torch.tensor([1.0, 1e-3, 0.0])
    others += torch.tensor([0.0, 1e3, 2.0])
    out = torch.rand(7, 40, generator=draw) < 0.3
    mean, spread = _mean_and_spread(others, out)
    kept = others[~out].double()
    assert torch.allclose(mean, kept.mean(0))
    assert torch.allclose(spread[:2], kept.std(0)[:2], rtol=1e-6) and spread[2] == 1


def test_the_low_rank_adjacency_is_combined_on_dense_graphs() -> None:
    sparse, dense = (generate(40, pairs, seed=1).with_features(None) for pairs in (60, 400))
    assert not set(OF_LOW_RANK) & set(combined_rules(sparse, "all"))
    assert combined_rules(dense, "all") == (*combined_rules(dense), *OF_LOW_RANK)
