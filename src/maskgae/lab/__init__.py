"""Cells, seeds and records: the one way in which anything is run and kept."""

from maskgae.evaluation.outcome import Outcome
from maskgae.lab.cell import METHODS, Cell, make_cell
from maskgae.lab.protocol import run_seed
from maskgae.lab.record import cell_record
from maskgae.lab.runner import Store, evaluate, run_missing

__all__ = [
    "METHODS",
    "Cell",
    "Outcome",
    "Store",
    "cell_record",
    "evaluate",
    "make_cell",
    "run_missing",
    "run_seed",
]
