"""Runs of the table of all methods that were deleted come back to the same bits.

Which bits those are depends on the versions and on the processor. So the cheapest runs that were
kept with these are deleted; where there are none, any three, which come back alike twice.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from maskgae.datasets.registry import is_available
from maskgae.evaluation.outcome import Outcome, made_with
from maskgae.lab import Records, run_missing
from maskgae.lab.all_methods import method_rows
from maskgae.lab.cell import Cell

KEPT = Records(Path(__file__).parents[2] / "results")
#: Task, dataset and method of what is deleted where nothing was kept on such a processor.
CHEAP = (("node", "Cora", "gae"), ("link", "Cora", "vgae"), ("node", "CiteSeer", "mvgrl"))
SEED = 200
#: As far apart as the last digits of a product, which differ between processors, take a run.
APART = 0.05


def deleted() -> list[tuple[Cell, int]]:
    """Three cells with a seed, cheapest first."""
    tasks = [(row.cell, seed) for row in method_rows() for seed in row.numbers()]
    found = [
        (sum(run.time_s.values()), number)
        for number, (cell, seed) in enumerate(tasks)
        if is_available(cell.dataset)
        and (run := KEPT.load(cell, seed)) is not None
        and run.versions == made_with()
    ]
    if len(found) >= 3:
        return [tasks[number] for _, number in sorted(found)[:3]]
    rows = {(r.cell.task, r.cell.dataset, r.cell.method): r.cell for r in method_rows()}
    return [(rows[each], SEED) for each in CHEAP]


def brought_back(folder: Path, tasks: list[tuple[Cell, int]]) -> list[Outcome]:
    """What becomes of these runs in a copy of the records without them."""
    again = Records(folder)
    for cell, seed in tasks:
        path = again.path(cell.task, cell.dataset)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            shutil.copy(KEPT.path(cell.task, cell.dataset), path)
        start = f'{{"digest":"{cell.digest()}","seed":{seed},'
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.startswith(start)))
    others = [(row.cell, SEED) for row in method_rows() if row.cell.method == "mlp"]
    there = [task for task in others if again.load(*task) is not None]
    assert list(run_missing([*there, *tasks], again)) == tasks
    found = [again.load(cell, seed) for cell, seed in tasks]
    return [run for run in found if run is not None]


@pytest.mark.slow
@pytest.mark.skipif(
    not (is_available("Cora") and is_available("CiteSeer")), reason="not on this machine"
)
def test_three_deleted_runs_come_back_to_the_same_bits(tmp_path: Path) -> None:
    tasks = deleted()
    once = brought_back(tmp_path / "once", tasks)
    before = [run for cell, seed in tasks if (run := KEPT.load(cell, seed)) is not None]
    if any(run.versions != made_with() for run in before):
        for run, kept in zip(once, before, strict=True):
            assert run.metrics == pytest.approx(dict(kept.metrics), abs=APART)
        before = brought_back(tmp_path / "twice", tasks)
    for run, kept in zip(once, before, strict=True):
        assert run.metrics == kept.metrics
        # A rule that is newer than the record stands beside those that it has.
        assert {name: run.sanity[name] for name in kept.sanity} == kept.sanity
