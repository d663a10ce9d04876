"""Runs in a file each become lines, and nothing of them is lost."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from maskgae.base.errors import InputError
from maskgae.lab import Cell, Outcome, Records, make_cell
from maskgae.lab.convert import convert


def keep(folder: Path, cell: Cell, run: Outcome) -> Path:
    """A run as it was kept once, with all settings and with one that is gone."""
    about = {name: getattr(cell, name) for name in ("task", "dataset", "method", "preset")}
    about["settings"] = {"mask.walks": 1} | cell.flat()
    document = {**dataclasses.asdict(run), "cell": about}
    name = f"{cell.method}-{cell.settings.mask.kind}-0123456789abcdef"
    path = folder / cell.task / cell.dataset / name / f"{run.seed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1))
    return path


def outcome(seed: int) -> Outcome:
    metrics, sanity = {"auc": 0.1 + seed}, {"row": {"auc": 1 / 3}}
    times, versions = {"train": 1.5, "evaluate": 0.25}, {"torch": "2.0"}
    return Outcome(seed, metrics, sanity, {"leaks": 0}, {"epochs": 7}, times, 99.5, versions, 3)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_every_run_becomes_a_line(tmp_path: Path) -> None:
    blocks = {"seed": 4, "training.fanouts": [5, 5]}
    cells = [
        make_cell("link", "Cora", mask="path", overrides=blocks),
        make_cell("link", "Cora", method="gae"),
        make_cell("link", "Cora", method="dgi", overrides={"dgi.dim": 8}),
        make_cell("node", "imports"),
    ]
    for cell in cells:
        for seed in (0, 2, 10):
            keep(tmp_path, cell, outcome(seed))
    keep(tmp_path / "tune", cells[0], outcome(1000))
    command = [sys.executable, "-m", "maskgae.lab.convert", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "13 runs" in done.stdout, done.stderr
    assert files(tmp_path) == ["link/Cora.jsonl", "node/imports.jsonl", "tune/link/Cora.jsonl"]
    assert not (tmp_path / "link" / "Cora").exists()
    for cell in cells:
        for seed in (0, 2, 10):
            assert Records(tmp_path).load(cell, seed) == outcome(seed)
    assert Records(tmp_path / "tune").load(cells[0], 1000) == outcome(1000)


def test_stopped_midway_it_goes_on(tmp_path: Path) -> None:
    cell = make_cell("link", "imports")
    Records(tmp_path).save(cell, outcome(0))  # its file was not removed yet
    for seed in (0, 1):
        keep(tmp_path, cell, outcome(seed))
    assert (convert(tmp_path), convert(tmp_path)) == (2, 0)
    assert len((tmp_path / "link" / "imports.jsonl").read_text().splitlines()) == 2


def test_what_is_no_run_is_named_and_stays(tmp_path: Path) -> None:
    path = keep(tmp_path, make_cell("link", "imports"), outcome(0))
    path.write_text(path.read_text()[:-10])
    with pytest.raises(InputError, match=r"0\.json is not a"):
        convert(tmp_path)
    assert path.exists()
