"""What comes out of one row on one graph with one seed."""

from __future__ import annotations

from maskgae.evaluation.outcome import Outcome
from maskgae.lab.contest.entry import Entry
from maskgae.lab.kinds.sides import sides_outcome
from maskgae.lab.kinds.ways import ways_outcome
from maskgae.run.source import Source


def run_kind(entry: Entry, source: Source, seed: int) -> Outcome:
    """Two sides are asked as a recommender is, all others by the test of ``fit``."""
    ask = ways_outcome if source.graph.directed else sides_outcome
    return ask(entry, source, seed)
