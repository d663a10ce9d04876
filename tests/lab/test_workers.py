"""Several jobs: the same bits as one, and nothing that outlives the process that started them.

Outcome as a script it is ``maskgae`` with a table of naps in the place of the paper's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maskgae import cli, lab
from maskgae.base.errors import InputError, RunError
from maskgae.lab import Cell, Outcome, Records, make_cell, run_missing, suites
from maskgae.lab.row import Row

#: Seconds that a nap takes, and the fewer in which everything must have ended.
NAP, SOON = 10.0, 4.0

BEATS = "beats"


def nap(cell: Cell, graph: Any, seed: int) -> Outcome:
    """Takes its time, and grows a file while it is alive."""
    end = time.monotonic() + NAP
    with Path(BEATS, str(os.getpid())).open("a") as file:
        while time.monotonic() < end:
            print(".", end="", file=file, flush=True)
            time.sleep(0.02)
    return Outcome(seed, {"auc": 0.5}, {}, {}, {}, {"train": NAP})


def rows() -> Iterator[Row]:
    yield Row("link", make_cell("link", "imports"), 4, {})


def until(true: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in sorted((folder / BEATS).iterdir())]


def at_rest(folder: Path) -> bool:
    before = sizes(folder)
    time.sleep(0.5)
    return sizes(folder) == before


@pytest.fixture
def napping(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """``maskgae reproduce --jobs 2`` in a group of its own, with both processes in their naps."""
    (tmp_path / BEATS).mkdir()
    words = [sys.executable, __file__, "reproduce", "link", "--jobs", "2"]
    with subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert until(lambda: len(sizes(tmp_path)) == 2 and min(sizes(tmp_path)) > 0, 60)
            yield process
        finally:
            process.kill()


def written(folder: Path) -> list[Path]:
    return [path for path in (folder / "results").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_jobs_end_with_their_parent_and_write_nothing(
    napping: subprocess.Popen[str], tmp_path: Path, number: int, code: int
) -> None:
    started = time.monotonic()
    napping.send_signal(number)
    assert napping.wait(SOON) == code
    assert until(lambda: at_rest(tmp_path), SOON - (time.monotonic() - started))
    assert written(tmp_path) == []


def test_ctrl_c_which_reaches_all_processes_is_answered_by_one(
    napping: subprocess.Popen[str], tmp_path: Path
) -> None:
    os.killpg(napping.pid, signal.SIGINT)
    errors = napping.communicate(timeout=SOON)[1]
    assert napping.returncode == 130 and at_rest(tmp_path)
    assert "Traceback" not in errors and "interrupted; the same command goes on" in errors


def test_two_jobs_give_the_bits_of_one(tmp_path: Path) -> None:
    short = {"training.epochs": 2, "encoder.hidden": 8, "encoder.dim": 8}
    cell = make_cell("link", "imports", overrides=short)
    kept = [Records(tmp_path / str(jobs)) for jobs in (1, 2)]
    for jobs, records in enumerate(kept, start=1):
        done = list(run_missing([(cell, seed) for seed in range(3)], records, jobs))
        assert sorted(seed for _, seed in done) == [0, 1, 2]
    for seed in range(3):
        one, two = (records.load(cell, seed) for records in kept)
        assert one is not None and two is not None
        assert (one.metrics, one.sanity) == (two.metrics, two.sanity)


def fail(cell: Cell, graph: Any, seed: int) -> Outcome:
    raise InputError("no such thing")


def die(cell: Cell, graph: Any, seed: int) -> Outcome:
    os._exit(7)


@pytest.mark.parametrize(
    ("run", "error", "words"),
    [(fail, InputError, "^no such thing"), (die, RunError, r"exit code 7.*fewer --jobs")],
)
def test_what_ends_a_job_ends_the_table_in_a_line(
    tmp_path: Path, run: Callable[..., Outcome], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        list(run_missing([(make_cell("link", "imports"), 0)], Records(tmp_path), 2, run))


def test_whoever_stops_early_ends_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / BEATS).mkdir()
    tasks = [(make_cell("link", "imports"), seed) for seed in range(2)]
    runs = run_missing(tasks, Records(tmp_path / "results"), 2, nap_unless_first)
    assert next(runs)[1] == 0
    runs.close()
    assert at_rest(tmp_path) and len(written(tmp_path)) == 1


def nap_unless_first(cell: Cell, graph: Any, seed: int) -> Outcome:
    return nap(cell, graph, seed) if seed else Outcome(0, {}, {}, {}, {}, {"train": 0.0})


if __name__ == "__main__":
    suites._all_rows = rows  # type: ignore[assignment]
    lab.run_missing = partial(run_missing, run=nap)
    cli.main()
