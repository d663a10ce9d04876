"""Runs of the table of all methods that were deleted come back: here to the same bits.

On the processor and with the versions that a kept record names they come back to its bits, too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from maskgae.datasets.registry import is_available
from maskgae.evaluation.outcome import Outcome
from maskgae.lab import Records, run_missing
from maskgae.lab.all_methods import method_rows
from maskgae.lab.cell import Cell

RESULTS = Path(__file__).parents[2] / "results"
#: Task, dataset and method of what is deleted; all are of seed 200.
DELETED = (("node", "Cora", "gae"), ("link", "Cora", "vgae"), ("node", "CiteSeer", "mvgrl"))
SEED = 200
#: As far apart as the last digits of a product, which differ between processors, take a run.
APART = 0.05


def cells() -> list[Cell]:
    rows = {(r.cell.task, r.cell.dataset, r.cell.method): r.cell for r in method_rows()}
    return [rows[each] for each in DELETED]


def without(source: Path, target: Path, cell: Cell) -> None:
    """Copies a file of records but for one run of a cell."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(source, target)
    start = f'{{"digest":"{cell.digest()}","seed":{SEED},'
    lines = target.read_text().splitlines(keepends=True)
    target.write_text("".join(line for line in lines if not line.startswith(start)))


@pytest.mark.slow
@pytest.mark.skipif(
    not (is_available("Cora") and is_available("CiteSeer")), reason="not on this machine"
)
def test_three_deleted_runs_come_back_to_the_same_bits(tmp_path: Path) -> None:
    first, second = (brought_back(tmp_path / name) for name in ("first", "second"))
    for cell, once, twice in zip(cells(), first, second, strict=True):
        assert (once.metrics, once.sanity) == (twice.metrics, twice.sanity)
        kept = Records(RESULTS).load(cell, SEED)
        assert kept is not None
        if kept.versions == once.versions:
            assert once.metrics == kept.metrics
            # A rule that is newer than the record stands beside those that it has.
            assert {name: once.sanity[name] for name in kept.sanity} == kept.sanity
        else:
            assert once.metrics == pytest.approx(dict(kept.metrics), abs=APART)


def brought_back(folder: Path) -> list[Outcome]:
    """What becomes of the three in a copy of the records without them."""
    kept, again = Records(RESULTS), Records(folder)
    for cell in cells():
        place = cell.task, cell.dataset
        without(kept.path(*place), again.path(*place), cell)
    tasks = [(cell, seed) for cell in cells() for seed in (SEED, SEED + 1)]
    assert list(run_missing(tasks, again)) == [(cell, SEED) for cell in cells()]
    found = [again.load(cell, SEED) for cell in cells()]
    return [run for run in found if run is not None]
