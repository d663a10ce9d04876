"""Metrics agree with scikit-learn and with OGB, ties included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score

from maskgae.base.errors import InputError, RunError
from maskgae.evaluation import auc, classification_metrics, link_metrics, summary

# Few different values, so that there are many ties.
scores = st.lists(st.integers(-3, 3), min_size=1, max_size=40)
classes = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


def test_values_worked_out_by_hand() -> None:
    # Positives 3, 2, 0; negatives 2, 1, 1. Pairs won: 3 + (2 + 1/2) + 0 of 9.
    result = link_metrics([3.0, 2.0, 0.0], [2.0, 1.0, 1.0])
    assert result == {
        "auc": pytest.approx(5.5 / 9),
        # Precision at 3: 1/1, at 2: 2/3, at 0: 3/6.
        "ap": pytest.approx((1 + 2 / 3 + 1 / 2) / 3),
        # Ranks 1, 1.5 and 4.
        "mrr": pytest.approx((1 + 1 / 1.5 + 1 / 4) / 3),
    }


@settings(max_examples=200, deadline=None)
@given(scores, scores)
def test_auc_and_ap_agree_with_scikit_learn(positive: list[int], negative: list[int]) -> None:
    labels = np.repeat([1, 0], [len(positive), len(negative)])
    both = np.array(positive + negative, dtype=np.float32)
    result = link_metrics(positive, negative)
    assert result["auc"] == pytest.approx(roc_auc_score(labels, both), abs=1e-12)
    assert result["auc"] == pytest.approx(auc(positive, negative), abs=1e-12)
    assert result["ap"] == pytest.approx(average_precision_score(labels, both), abs=1e-12)


@pytest.mark.parametrize("decimals", [1, 8])
def test_hits_and_mrr_agree_with_ogb(decimals: int) -> None:
    evaluation = pytest.importorskip("ogb.linkproppred")
    import torch

    rng = np.random.default_rng(0)
    positive = rng.normal(1, 1, 300).round(decimals)
    negative = rng.normal(0, 1, 200).round(decimals)
    result = link_metrics(positive, negative)
    evaluator = evaluation.Evaluator("ogbl-collab")
    scores = {"y_pred_pos": torch.tensor(positive), "y_pred_neg": torch.tensor(negative)}
    for k in (10, 20, 50, 100):
        evaluator.K = k
        assert result[f"hits@{k}"] == pytest.approx(evaluator.eval(scores)[f"hits@{k}"])
    # OGB's rank: the mean of the optimistic and of the pessimistic one, each positive against
    # its own row of negatives; here all rows are the same.
    scores["y_pred_neg"] = torch.tensor(negative).expand(300, 200)
    mrr = evaluation.Evaluator("ogbl-citation2").eval(scores)["mrr_list"].mean().item()
    assert result["mrr"] == pytest.approx(mrr, rel=1e-6)


def test_hits_need_k_negatives_and_count_strictly() -> None:
    negative = np.arange(20.0)
    result = link_metrics([10.0, 10.5, 9.0, 0.5], negative)
    assert "hits@50" not in result
    assert result["hits@10"] == 0.25  # the tenth best negative is 10, and 10 does not beat it
    assert result["hits@20"] == 1.0


def test_tensors_of_logits_are_welcome() -> None:
    import torch

    assert auc(torch.tensor([60.0, 40.0]), torch.tensor([[-60.0], [50.0]])) == 0.75


def test_bad_scores() -> None:
    with pytest.raises(InputError, match="no negative is given"):
        auc([1.0], [])
    with pytest.raises(RunError, match=r"positive scores are not numbers \(NaN\)"):
        link_metrics([float("nan"), 1.0], [1.0])


@settings(max_examples=100, deadline=None)
@given(classes)
def test_classification_agrees_with_scikit_learn(both: list[tuple[int, int]]) -> None:
    labels, predicted = zip(*both, strict=True)
    result = classification_metrics(labels, predicted)
    assert result["accuracy"] == pytest.approx(accuracy_score(labels, predicted))
    expected = f1_score(labels, predicted, average="macro", zero_division=0)
    assert result["macro_f1"] == pytest.approx(expected)


def test_classification_needs_as_many_predictions_as_labels() -> None:
    with pytest.raises(InputError, match="2 labels, 1 predictions"):
        classification_metrics([0, 1], [0])


def test_summary() -> None:
    result = summary([1, 2, 3, 4])
    assert (result["mean"], result["values"]) == (2.5, [1.0, 2.0, 3.0, 4.0])
    assert result["std"] == pytest.approx(np.sqrt(5 / 3))
    # Student's t of three degrees of freedom: 3.18245 on either side.
    half = 3.182446 * np.sqrt(5 / 3) / 2
    assert result["ci95"] == pytest.approx([2.5 - half, 2.5 + half], abs=1e-6)
    assert summary([0.5]) == {"mean": 0.5, "std": None, "ci95": None, "values": [0.5]}
    with pytest.raises(InputError, match="at least one run"):
        summary([])
