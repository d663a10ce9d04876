"""The record of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maskgae.datasets.registry import DATASETS
from maskgae.evaluation.outcome import Outcome
from maskgae.evaluation.record import link_protocol, make_record
from maskgae.lab.cell import Cell, uses


def cell_record(cell: Cell, outcomes: Sequence[Outcome], load_s: float = 0.0) -> dict[str, Any]:
    """What a cell is, how it was run, and what its seeds gave."""
    about = {name: getattr(cell, name) for name in ("task", "dataset", "method", "preset")}
    flat = cell.flat().items()
    settings = {key: value for key, value in flat if key != "seed" and uses(cell.method, key)}
    link = cell.task == "link"
    protocol = _link_protocol(cell) if link else _node_protocol(cell, outcomes[0])
    # A method that has a way of its own to choose its epoch says so.
    protocol |= {k: v for k, v in outcomes[0].facts.items() if k == "selection"}
    return make_record(about, settings, protocol, outcomes, load_s)


def _link_protocol(cell: Cell) -> dict[str, Any]:
    own = link_protocol(cell.settings)
    return own | {"split": "public", "negatives": "public"} if cell.dataset == "Collab" else own


def _node_protocol(cell: Cell, outcome: Outcome) -> dict[str, Any]:
    entry, config = DATASETS.get(cell.dataset), cell.settings.split
    public = entry is not None and entry.split == "public"
    splits = cell.settings.probe.random_splits
    return {
        "split": "public" if public else "random 10/10/80, a new split per seed",
        "random_splits": splits if "accuracy_random_splits" in outcome.metrics else 0,
        "held_out_pairs": config.val,
        "probe": cell.settings.probe.kind,
        "selection": cell.settings.training.select,
    }
