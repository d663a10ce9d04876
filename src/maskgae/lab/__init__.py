"""Cells, seeds and records: the one way in which anything is run and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maskgae.evaluation.outcome import Outcome
    from maskgae.lab.cell import METHODS, Cell, make_cell
    from maskgae.lab.protocol import run_seed
    from maskgae.lab.record import cell_record
    from maskgae.lab.records import Records
    from maskgae.lab.runner import evaluate, run_missing

__all__ = [
    "METHODS",
    "Cell",
    "Outcome",
    "Records",
    "cell_record",
    "evaluate",
    "make_cell",
    "run_missing",
    "run_seed",
]

_LAZY = {
    **dict.fromkeys(("METHODS", "Cell", "make_cell"), "maskgae.lab.cell"),
    **dict.fromkeys(("evaluate", "run_missing"), "maskgae.lab.runner"),
    "Records": "maskgae.lab.records",
    "Outcome": "maskgae.evaluation.outcome",
    "cell_record": "maskgae.lab.record",
    "run_seed": "maskgae.lab.protocol",
}


def __getattr__(name: str) -> Any:
    """Imports torch and the rest only when they are used, so that ``--help`` comes fast."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'maskgae.lab' has no attribute '{name}'")
