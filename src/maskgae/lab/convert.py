"""``python -m maskgae.lab.convert results``: one JSON file for each run, as it was, to records.

Runs used to be kept as ``TASK/DATASET/METHOD-MASK-DIGEST/SEED.json``. Each of those below a folder
and below its ``tune`` becomes a line of :class:`~maskgae.lab.records.Records`, and is removed once
it is read back from there the same. Stopped midway, the same command goes on.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import Any

from maskgae.base.errors import InputError, RunError
from maskgae.base.files import read_json, read_with
from maskgae.base.settings_text import REMOVED
from maskgae.cli import screen
from maskgae.evaluation.outcome import Outcome
from maskgae.lab.cell import Cell, recorded_cell
from maskgae.lab.records import Records
from maskgae.presets import TASKS


def convert(folder: Path) -> int:
    """Moves all runs below a folder into its records; how many there were."""
    count = 0
    for records in (Records(folder), Records(folder / "tune")):
        for task in TASKS:
            paths = (records.folder / task).glob("*/*/*.json")
            for path in sorted(paths, key=lambda path: (path.parent, len(path.name), path.name)):
                _move(path, records)
                count += 1
    return count


def _move(path: Path, records: Records) -> None:
    cell, run = read_with(path, lambda path: _parsed(read_json(path)), "record's JSON")
    if records.load(cell, run.seed) != run:
        records.save(cell, run)
    if records.load(cell, run.seed) != run:
        raise RunError(f"{path} is not read back as it was, and stays: report this")
    path.unlink()
    with suppress(OSError):  # other runs are still there
        path.parent.rmdir()
        path.parent.parent.rmdir()


def _parsed(document: dict[str, Any]) -> tuple[Cell, Outcome]:
    about = document.pop("cell")
    settings = {k: v for k, v in about["settings"].items() if REMOVED.get(k) != v}
    return recorded_cell(about | {"settings": settings}), Outcome(**document)


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes records of one JSON file for each run.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("results"))
    try:
        count = convert(folder := parser.parse_args().folder)
    except (InputError, RunError) as error:
        raise SystemExit(f"error: {error}") from None
    screen.out.print(f"{count} runs are now lines below {screen.plain(folder)}")


if __name__ == "__main__":
    main()
