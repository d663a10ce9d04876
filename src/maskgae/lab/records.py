"""Records on disk: a file for each task and dataset, a line for each run.

``results/link/Cora.jsonl`` has the runs of all cells of that task and dataset. A line has the
cell's digest and the seed, what came out, and what was run; of the settings it has those that
differ from the defaults, as the digest counts those alone. So a setting that a line does not name
was at its default, also one that is newer than the line. Lines are appended and stay; of two with
the same digest and seed the later one counts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from maskgae.base.errors import InputError
from maskgae.base.jsonl import append_json, read_lines
from maskgae.base.lock import locked
from maskgae.evaluation.outcome import Outcome
from maskgae.lab.cell import Cell
from maskgae.lab.record import cell_record

#: A cell's digest and a seed.
Key = tuple[str, int]
#: What a line says.
Run = Mapping[str, Any]


class Kept(Protocol):
    """What is run with one seed after the other: a cell, or an entry of the contest."""

    @property
    def task(self) -> str: ...

    @property
    def dataset(self) -> str: ...

    @property
    def label(self) -> str:
        """A few words for whoever waits."""

    def digest(self) -> str:
        """Stands for everything that decides the result."""

    def about(self) -> dict[str, Any]:
        """What its lines say of it."""


@dataclass(frozen=True)
class Records:
    """A folder with ``TASK/DATASET.jsonl``; a file is read again only after it has changed."""

    folder: Path
    _read: dict[Path, tuple[tuple[int, int], dict[Key, Run]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def path(self, task: str, dataset: str) -> Path:
        return self.folder / task / f"{dataset}.jsonl"

    def datasets(self, task: str) -> list[str]:
        """The datasets on which anything of a task was run."""
        return sorted(path.stem for path in (self.folder / task).glob("*.jsonl"))

    def runs(self, task: str, dataset: str) -> Mapping[Key, Run]:
        """Every kept run of a task on a dataset, by its cell's digest and its seed."""
        path = self.path(task, dataset)
        try:
            found = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        stamp = found.st_size, found.st_mtime_ns
        if path not in self._read or self._read[path][0] != stamp:
            self._read[path] = stamp, _by_key(path)
        return self._read[path][1]

    def load(self, cell: Kept, seed: int) -> Outcome | None:
        """A kept run, or ``None`` where there is none that these settings would repeat."""
        run = self.runs(cell.task, cell.dataset).get((cell.digest(), seed))
        if run is None:
            return None
        return Outcome(**{item.name: run[item.name] for item in dataclasses.fields(Outcome)})

    def save(self, cell: Kept, run: Outcome) -> None:
        """Appends a run, after whoever else is appending."""
        line = {"digest": cell.digest(), **dataclasses.asdict(run), "cell": cell.about()}
        path = self.path(cell.task, cell.dataset)
        with locked(path.parent, wait=True):
            append_json(path, line)

    def record(self, cell: Cell, seeds: Sequence[int]) -> dict[str, Any] | None:
        """The record of the seeds that are there, or ``None`` if none is."""
        runs = [run for seed in seeds if (run := self.load(cell, seed)) is not None]
        return cell_record(cell, runs) if runs else None


def _by_key(path: Path) -> dict[Key, Run]:
    found: dict[Key, Run] = {}
    for number, run in enumerate(read_lines(path), start=1):
        try:
            found[run["digest"], run["seed"]] = run
        except (KeyError, TypeError):
            raise InputError(
                f"{path}, line {number} is no run, which has a digest and a seed: remove the line"
            ) from None
    return found
