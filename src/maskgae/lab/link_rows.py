"""Rows about links that stand beside the paper's: what each part is worth, and HeaRT's table.

Everything here is judged on seeds that no choice has seen, with the rules of ``scorer.rules=few``
where rules are combined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maskgae.lab.cell import make_cell
from maskgae.lab.row import HARD_NEGATIVES, UNSEEN, Row

DATASETS = ("Cora", "CiteSeer")
#: Methods that score links alone and with the rules, cheapest first; ``seal`` takes hours.
BASELINES = (
    "sgc",
    "gae",
    "vgae",
    "arga",
    "arvga",
    "sage",
    "cca-ssg",
    "sugrl",
    "dgi",
    "mgae",
    "grace",
)
COMBINED: dict[str, Any] = {"scorer.kind": "combined"}
#: How HeaRT judges: its negatives on training edges, and selection by the same MRR.
HEART: dict[str, Any] = {
    "split.hard_negatives": HARD_NEGATIVES,
    "split.hard_rule": "heart",
    "split.message_edges": "train",
    "training.select": "val_hard",
}
SEEDS = 5


def heart_rows(trained: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """The rules alone, beside an encoder without training, and MaskGAE as the ranking trains it."""
    judged = {key: value for key, value in HEART.items() if key.startswith("split.")}
    for dataset in DATASETS:
        cell = make_cell("link", dataset, mask="edge", overrides=judged, method="untrained")
        yield Row("heart", cell, SEEDS, {}, UNSEEN)
        overrides = {**COMBINED, **trained.get(dataset, {}), **HEART}
        cell = make_cell("link", dataset, mask="edge", overrides=overrides)
        yield Row("heart", cell, SEEDS, {}, UNSEEN)


def part_rows(trained: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """MaskGAE, the same without a mask and without training, and every baseline."""
    for dataset in DATASETS:
        overrides = {**COMBINED, **trained.get(dataset, {})}
        for mask, method in (("edge", "maskgae"), ("none", "maskgae"), ("edge", "untrained")):
            cell = make_cell("link", dataset, mask=mask, overrides=overrides, method=method)
            yield Row("parts", cell, SEEDS, {}, UNSEEN)
        for method in BASELINES:
            cell = make_cell("link", dataset, overrides=COMBINED, method=method)
            yield Row("parts", cell, SEEDS, {}, UNSEEN)
