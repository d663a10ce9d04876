r"""Metrics from arrays of scores and labels.

=============  =====================================================================
auc            chance that a positive scores above a negative, ties count half
ap             precision at each positive's score, averaged, as in scikit-learn
hits@k         share of positives strictly above the k-th best negative, as in OGB
mrr            mean of 1 / rank of each positive against all negatives, as in OGB
accuracy       share of right labels
macro_f1       mean over the classes of the harmonic mean of precision and recall
=============  =====================================================================

All are fractions. Link metrics look only at the order of scores, so logits serve as well as
probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskgae.base.errors import InputError, RunError

HITS = (10, 20, 50, 100)


def link_metrics(positive: ArrayLike, negative: ArrayLike) -> dict[str, float]:
    r"""How well scores tell held-out edges from negative samples (non-edges).

    With :math:`n_i` negatives above positive :math:`i` and :math:`m_i` beside it, its rank is
    :math:`1 + n_i + m_i / 2`, the average rank on ties. Hits@k is left out where there are
    fewer than k negatives.

    Args:
        positive: scores of edges.
        negative: scores of negative samples.

    Shapes:
        - **positive:** ``[P]``
        - **negative:** ``[Q]``

    >>> link_metrics([0.9, 0.4], [0.4, 0.1])
    {'auc': 0.875, 'ap': 0.8333333333333333, 'mrr': 0.8333333333333333}
    """
    positives, negatives = _sorted_scores(positive, negative)
    below, above = _below_and_above(positives, negatives)
    tied = negatives.size - below - above
    # Positives at or above each positive's own score.
    found = positives.size - np.searchsorted(positives, positives, side="left")
    result = {
        "auc": float((below + tied / 2).mean() / negatives.size),
        "ap": float((found / (found + above + tied)).mean()),
    }
    for k in HITS:
        if negatives.size >= k:
            result[f"hits@{k}"] = float((positives > negatives[-k]).mean())
    result["mrr"] = float((1 / (1 + above + tied / 2)).mean())
    return result


def auc(positive: ArrayLike, negative: ArrayLike) -> float:
    """Chance that a positive scores above a negative, ties counted half, by one sort.

    >>> auc([0.9, 0.4], [0.4, 0.1])
    0.875
    """
    positives, negatives = _sorted_scores(positive, negative)
    below, above = _below_and_above(positives, negatives)
    return float((below + (negatives.size - above)).mean() / 2 / negatives.size)


def classification_metrics(labels: ArrayLike, predicted: ArrayLike) -> dict[str, float]:
    r"""Accuracy and macro-F1, the mean over classes of :math:`2 t_c / (n_c + p_c)`.

    Class :math:`c` has :math:`n_c` nodes, is predicted :math:`p_c` times and :math:`t_c` times
    rightly; classes that neither occur nor are predicted do not count.

    Shapes:
        - **labels**, **predicted:** ``[n]``, whole numbers from 0 on

    >>> classification_metrics([0, 0, 1, 1], [0, 1, 1, 1])
    {'accuracy': 0.75, 'macro_f1': 0.7333333333333334}
    """
    truth, guess = np.asarray(labels), np.asarray(predicted)
    if truth.size == 0 or truth.shape != guess.shape:
        raise InputError(
            "classification needs a prediction for each label and at least one: "
            f"{truth.size:,} labels, {guess.size:,} predictions"
        )
    classes = int(max(truth.max(), guess.max())) + 1
    right = np.bincount(truth[truth == guess], minlength=classes)
    total = np.bincount(truth, minlength=classes) + np.bincount(guess, minlength=classes)
    f1 = 2 * right[total > 0] / total[total > 0]
    return {"accuracy": float((truth == guess).mean()), "macro_f1": float(f1.mean())}


def summary(values: Iterable[float]) -> dict[str, Any]:
    r"""Mean, standard deviation and 95 % interval of independent runs.

    .. math::

        \bar x \pm t_{0.975, n - 1} \, s / \sqrt n, \qquad
        s^2 = \frac{1}{n - 1} \sum_i (x_i - \bar x)^2

    From one run nothing is known about the spread: ``std`` and ``ci95`` are ``None``.

    >>> summary([0.8, 0.9, 1.0])["ci95"]  # doctest: +ELLIPSIS
    [0.6515862..., 1.1484137...]
    >>> summary([0.8])
    {'mean': 0.8, 'std': None, 'ci95': None, 'values': [0.8]}
    """
    numbers = [float(value) for value in values]
    if not numbers:
        raise InputError("a summary needs the value of at least one run")
    mean = float(np.mean(numbers))
    if len(numbers) == 1:
        return {"mean": mean, "std": None, "ci95": None, "values": numbers}
    from scipy.special import stdtrit

    std = float(np.std(numbers, ddof=1))
    half = float(stdtrit(len(numbers) - 1, 0.975)) * std / len(numbers) ** 0.5
    return {"mean": mean, "std": std, "ci95": [mean - half, mean + half], "values": numbers}


def _sorted_scores(positive: ArrayLike, negative: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    scores = []
    for kind, given in (("positive", positive), ("negative", negative)):
        array = np.sort(np.asarray(given).reshape(-1))
        if array.size == 0:
            raise InputError(f"link metrics need scores of both kinds, but no {kind} is given")
        if np.isnan(array[-1]):  # sorting puts NaN last
            raise RunError(f"{kind} scores are not numbers (NaN): lower training.lr and run again")
        scores.append(array)
    return scores[0], scores[1]


def _below_and_above(
    positives: NDArray[Any], negatives: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each positive, the negatives that score less and those that score more."""
    below = np.searchsorted(negatives, positives, side="left")
    above = negatives.size - np.searchsorted(negatives, positives, side="right")
    return below, above
