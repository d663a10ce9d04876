"""Baselines and hard negatives through the one runner."""

from __future__ import annotations

import pytest
import torch

from maskgae.base.rng import Stream
from maskgae.data.splits import split_links
from maskgae.datasets.generated import generate
from maskgae.evaluation.ground import Contest
from maskgae.evaluation.hard import hard_metrics, hard_negatives
from maskgae.evaluation.metrics import link_metrics
from maskgae.lab import METHODS, evaluate, make_cell
from maskgae.lab.methods import BASELINES


def test_every_baseline_is_a_method_of_cells() -> None:
    assert set(METHODS) == {"maskgae", *BASELINES}


def test_a_row_ranks_each_pair_against_its_own_negatives() -> None:
    graph = generate(80, 200, num_features=8, communities=4, seed=0)
    split = split_links(graph, 0.1, 0.1, Stream(0))
    negatives = hard_negatives(split.train, graph, split.test, 12, Stream(1))
    contest = Contest.of(split, graph, negatives)
    # A score that tells every pair from every other.
    scores = (contest.pairs[0] * 0.37 + contest.pairs[1] * 0.37).sin()

    def score(pairs: torch.Tensor) -> torch.Tensor:
        return (pairs[0] * 0.37 + pairs[1] * 0.37).sin()

    expected = link_metrics(score(split.test), score(split.test_negatives))
    expected |= hard_metrics(score(split.test), score(negatives).view(-1, 12))
    assert contest.row(scores) == pytest.approx(expected)


def test_no_hard_negatives_unless_asked_for() -> None:
    graph = generate(80, 200, num_features=8, communities=4, seed=0)
    split = split_links(graph, 0.1, 0.1, Stream(0))
    contest = Contest.of(split, graph)
    assert contest.pairs.shape[1] == split.test.shape[1] + split.test_negatives.shape[1]
    assert not any(name.startswith("hard") for name in contest.row(torch.arange(40.0)))


@pytest.mark.parametrize(("task", "method"), [("link", "vgae"), ("node", "gcn")])
def test_a_baseline_runs_as_a_cell(task: str, method: str) -> None:
    overrides = {"split.hard_negatives": 20, "training.max_steps": 10}
    record = evaluate(make_cell(task, "imports", method=method, overrides=overrides), [0])
    assert record["method"] == method and record["facts"]["epochs"] == 10
    if task == "link":
        rows = [record["metrics"], *record["sanity"].values()]
        assert all(0 < row["hard_mrr"]["mean"] <= 1 for row in rows)
    else:
        assert record["metrics"]["accuracy"]["mean"] > 0.1
