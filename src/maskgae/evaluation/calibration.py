"""Whether probabilities mean what they say: Brier score, and the share of edges in each tenth.

Both kinds of pairs weigh alike, since the probabilities are for as many edges as negative samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 10


def calibration(positive: NDArray[Any], negative: NDArray[Any]) -> dict[str, Any]:
    """What a record tells of the probabilities of held-out edges and negative samples.

    >>> found = calibration(np.array([0.9, 0.8]), np.array([0.1, 0.4]))
    >>> round(found["brier"], 3), [row["count"] for row in found["reliability"]]
    (0.055, [1, 1, 1, 1])
    """
    keys = ("predicted", "observed", "count")
    bins = [{key: row[key] for key in keys} for row in calibration_bins(positive, negative)]
    return {"brier": brier(positive, negative), "reliability": bins}


def brier(positive: NDArray[Any], negative: NDArray[Any]) -> float:
    r"""The mean squared error of probabilities, 0 at best and 0.25 for always a half (Brier, 1950).

    .. math:: \tfrac{1}{2} \overline{(1 - p_+)^2} + \tfrac{1}{2} \overline{p_-^2}

    >>> brier(np.array([1.0, 0.5]), np.array([0.5]))
    0.1875
    """
    return float(np.mean((1 - positive) ** 2) / 2 + np.mean(negative**2) / 2)


def calibration_bins(positive: NDArray[Any], negative: NDArray[Any]) -> list[dict[str, float]]:
    """Mean prediction and share of edges in each tenth of the scale, both classes weighing alike.

    >>> rows = calibration_bins(np.array([0.95, 0.95]), np.array([0.95, 0.05, 0.05, 0.05]))
    >>> [(round(row["predicted"], 2), row["observed"]) for row in rows]
    [(0.05, 0.0), (0.95, 0.8)]
    """
    scores = np.concatenate([positive, negative]).astype(np.float64)
    is_edge = np.repeat([1.0, 0.0], [len(positive), len(negative)])
    weights = np.where(is_edge > 0, 1 / max(len(positive), 1), 1 / max(len(negative), 1))
    place = np.clip((scores * BINS).astype(int), 0, BINS - 1)
    rows = []
    for number in range(BINS):
        inside = place == number
        weight = weights[inside].sum()
        if weight == 0:
            continue
        share = float((weights * is_edge)[inside].sum() / weight)
        # Kish's effective count, since the two classes may weigh unlike.
        effective = weight**2 / (weights[inside] ** 2).sum()
        low, high = _wilson(share, float(effective))
        rows.append(
            {
                "predicted": float((weights * scores)[inside].sum() / weight),
                "observed": share,
                "low": low,
                "high": high,
                "count": int(inside.sum()),
            }
        )
    return rows


def _wilson(share: float, count: float, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    middle = share + z**2 / (2 * count)
    half = z * (share * (1 - share) / count + z**2 / (4 * count**2)) ** 0.5
    scale = 1 + z**2 / count
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)
