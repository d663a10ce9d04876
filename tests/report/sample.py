"""A small report with everything in it, and names that would like to be code."""

from typing import Any

import numpy as np

from maskgae.report import ReportData

SCRIPT = "<script>window.hacked = 1</script>"
IMAGE = "<img src=x onerror='window.hacked = 2'>"
BREAKOUT = "</script><script>window.hacked = 3</script><!-- \u2028 %{x} &amp; ${title}"


def make_report(**changes: Any) -> ReportData:
    """Two cliques of ten nodes with an edge between them, three nodes named by an enemy."""
    rng = np.random.default_rng(0)
    ids = [SCRIPT, IMAGE, BREAKOUT, "007", *(f"node {i}" for i in range(4, 20))]
    left = [(u, v) for u in range(10) for v in range(u + 1, 10)]
    right = [(u + 10, v + 10) for u, v in left]
    row = {"mean": 0.9, "std": None, "ci95": None, "values": [0.9]}
    values: dict[str, Any] = {
        "title": f"Two cliques {IMAGE}",
        "ids": ids,
        "pairs": np.array([*left, *right, (0, 10)]).T,
        "embedding": rng.normal(size=(20, 8)) + 5 * np.repeat([[0.0], [1.0]], 10, axis=0),
        "facts": {IMAGE: SCRIPT},
        "cleaning": SCRIPT,
        "feature_rows": [(SCRIPT, IMAGE, 3)],
        "settings": {"mask.p": 0.3, IMAGE: SCRIPT},
        "record": {
            "task": "link",
            "method": "maskgae",
            "metrics": {"auc": row, "ap": row},
            "sanity": {IMAGE: {"auc": row, "ap": row}},
            "protocol": {"split": SCRIPT},
            "time_s": {"train": 1.0},
            "facts": {"brier": 0.0625, "precision": [0.25, 0.125], "test_pairs": 1200},
        },
        "history": [
            {"epoch": i, "loss": 1 / (i + 1), "val_auc": 0.5 + 0.04 * i if i % 2 else None}
            for i in range(10)
        ],
        "best_epoch": 8,
        "test_scores": (rng.beta(5, 1, 200), rng.beta(1, 5, 300)),
        "degrees": (np.arange(20), np.arange(20) * 0.9),
        "labels": [None, SCRIPT, IMAGE, *(["left"] * 7), *(["right"] * 10)],
        "links": [(ids[i], ids[19 - i], 0.9 - i / 50) for i in range(10)],
        "whys": [
            [("shared neighbours", 1.5 + i, [(SCRIPT, 2.0 + i), ("less", -0.5)]), (IMAGE, -0.5, [])]
            for i in range(10)
        ],
    }
    return ReportData(**(values | changes))
