"""Cells, seeds and records: the one way in which anything is run and kept."""

from maskgae.experiment.cell import METHODS, TASKS, Cell, make_cell
from maskgae.experiment.protocol import Run, run_seed
from maskgae.experiment.record import make_record
from maskgae.experiment.runner import Store, evaluate, run_missing

__all__ = [
    "METHODS",
    "TASKS",
    "Cell",
    "Run",
    "Store",
    "evaluate",
    "make_cell",
    "make_record",
    "run_missing",
    "run_seed",
]
