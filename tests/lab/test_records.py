"""Records: a line for each run, found by what it ran; torn, doubled and broken lines."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maskgae.base.errors import InputError
from maskgae.base.settings import APART, Settings
from maskgae.lab import METHODS, Cell, Outcome, Records, make_cell, records
from maskgae.lab.cell import recorded_cell, uses
from maskgae.lab.methods import CONFIGURED

ROOT = Path(__file__).parents[2]
CELL = make_cell("link", "imports", overrides={"mask.p": 0.5})


def outcome(seed: int, auc: float = 0.5) -> Outcome:
    times = {"train": 1.0, "evaluate": 0.5}
    return Outcome(seed, {"auc": auc}, {"row": {"auc": 0.25}}, {"leaks": 0}, {}, times)


def with_settings(values: dict[str, Any], method: str = "maskgae") -> Cell:
    return Cell("link", "imports", Settings().updated(values), method=method)


def test_a_line_has_all_of_a_run_and_the_settings_that_differ(tmp_path: Path) -> None:
    run = outcome(3)
    Records(tmp_path).save(CELL, run)
    (line,) = (tmp_path / "link" / "imports.jsonl").read_text().splitlines()
    found = json.loads(line)
    assert found.pop("digest") == CELL.digest()
    assert found.pop("cell") == {
        **{"task": "link", "dataset": "imports", "method": "maskgae", "preset": CELL.preset},
        "settings": json.loads(json.dumps(CELL.settings.changed())),
    }
    assert Outcome(**found) == run == Records(tmp_path).load(CELL, 3)
    assert [path.name for path in (tmp_path / "link").iterdir()] == ["imports.jsonl"]


def test_a_run_is_found_by_its_cell_and_seed_alone(tmp_path: Path) -> None:
    kept = Records(tmp_path)
    assert kept.load(CELL, 0) is None and kept.datasets("link") == []
    kept.save(CELL, outcome(0))
    assert kept.load(CELL, 1) is None
    assert kept.load(make_cell("link", "imports", overrides={"mask.p": 0.6}), 0) is None
    assert kept.load(make_cell("node", "imports", overrides={"mask.p": 0.5}), 0) is None
    assert kept.datasets("link") == ["imports"] and kept.datasets("node") == []


def test_the_later_of_two_lines_counts(tmp_path: Path) -> None:
    kept = Records(tmp_path)
    for run in (outcome(0, 0.1), outcome(1, 0.2), outcome(0, 0.3)):
        kept.save(CELL, run)
    record = kept.record(CELL, [0, 1, 2])
    assert record is not None and record["metrics"]["auc"]["values"] == [0.3, 0.2]


def test_what_an_older_run_lacks_is_left_out_of_the_record(tmp_path: Path) -> None:
    kept, newer = Records(tmp_path), outcome(0)
    rows = {"row": {"auc": 0.25, "mrr": 0.1}, "newer row": {"auc": 0.2}}
    kept.save(CELL, replace(newer, metrics={"auc": 0.5, "mrr": 0.3}, sanity=rows))
    kept.save(CELL, outcome(1))
    record = kept.record(CELL, [0, 1])
    assert record is not None
    assert list(record["metrics"]) == ["auc"] == list(record["sanity"]["row"])
    assert list(record["sanity"]) == ["row"]


def test_a_torn_last_line_is_a_run_that_is_missing(tmp_path: Path) -> None:
    kept, path = Records(tmp_path), tmp_path / "link" / "imports.jsonl"
    for seed in (0, 1):
        kept.save(CELL, outcome(seed))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    assert kept.load(CELL, 0) is not None and kept.load(CELL, 1) is None
    kept.save(CELL, outcome(1))
    assert len(path.read_bytes().splitlines()) == 2 and kept.load(CELL, 1) is not None


@pytest.mark.parametrize(
    ("line", "words"),
    [("=======", "line 2 is no JSON"), ('{"seed":0}', "line 2 is no run"), ("1", "is no run")],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    kept, path = Records(tmp_path), tmp_path / "link" / "imports.jsonl"
    kept.save(CELL, outcome(0))
    path.write_text(f"{path.read_text()}{line}\n")
    kept.save(CELL, outcome(1))
    with pytest.raises(InputError, match=rf"imports\.jsonl, .*{words}"):
        kept.load(CELL, 0)


def test_a_file_is_read_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, read = Records(tmp_path), []
    real = records.read_lines
    monkeypatch.setattr(records, "read_lines", lambda path: read.append(path) or real(path))
    for seed in range(3):
        kept.save(CELL, outcome(seed))
    assert all(kept.load(CELL, seed) for seed in range(3)) and len(read) == 1
    Records(tmp_path).save(CELL, outcome(3))  # another process, say
    assert kept.load(CELL, 3) is not None and len(read) == 2


APPEND = """
import sys
from pathlib import Path
from maskgae.lab import Outcome, Records, make_cell
kept, cell, first = Records(Path(sys.argv[1])), make_cell("link", "imports"), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for seed in range(first, first + 100):
    kept.save(cell, Outcome(seed, {"auc": seed / 1000}, {}, {}))
"""


def test_two_processes_append_at_once(tmp_path: Path) -> None:
    words = [sys.executable, "-c", APPEND, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([*words, str(first)], **pipes) for first in (0, 100)]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n"), writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    runs = Records(tmp_path).runs("link", "imports")
    assert {seed: run["metrics"]["auc"] for (_, seed), run in runs.items()} == {
        seed: seed / 1000 for seed in range(200)
    }
    assert len((tmp_path / "link" / "imports.jsonl").read_text().splitlines()) == 200


def test_a_setting_that_a_line_does_not_name_was_at_its_default(tmp_path: Path) -> None:
    """So it is with one that is newer than the line."""
    kept = Records(tmp_path)
    kept.save(with_settings({"mask.p": 0.5}), outcome(0))
    assert "objective.alpha" not in (tmp_path / "link" / "imports.jsonl").read_text()
    assert kept.load(with_settings({"mask.p": 0.5, "objective.alpha": 0.0}), 0) is not None
    assert kept.load(with_settings({"mask.p": 0.5, "objective.alpha": 0.1}), 0) is None


def test_a_line_gives_back_the_settings_that_its_digest_stands_for() -> None:
    """For every committed run: the defaults, but for what its line names."""
    for folder in (ROOT / "results", ROOT / "results" / "tune"):
        kept = Records(folder)
        for task in ("link", "node"):
            for dataset in kept.datasets(task):
                for (digest, _), run in kept.runs(task, dataset).items():
                    assert recorded_cell(run["cell"]).digest() == digest


def test_so_does_a_line_of_a_method_with_settings_of_its_own(tmp_path: Path) -> None:
    """What differs on the dataset is named as is what was asked for."""
    cell = make_cell("node", "PubMed", method="dgi", overrides={"dgi.lr": 0.5, "split.val": 0.1})
    kept = Records(tmp_path)
    kept.save(cell, outcome(0))
    (run,) = kept.runs("node", "PubMed").values()
    assert run["cell"]["settings"].items() >= {"dgi.lr": 0.5, "dgi.dim": 256}.items()
    again = recorded_cell(run["cell"])
    assert again.own == cell.own and again.digest() == cell.digest()


@pytest.mark.parametrize("method", METHODS)
def test_a_digest_counts_what_the_method_uses(method: str) -> None:
    others = {"mask.p": 0.5, "encoder.dim": 8, "split.val": 0.1, "training.max_steps": 7}
    plain = with_settings({}, method).digest()
    for key, value in others.items():
        same = with_settings({key: value}, method).digest() == plain
        assert same != uses(method, key), key


def test_digests_of_maskgae_are_those_of_all_settings() -> None:
    """As they were when every method's counted all: kept runs go by them."""
    assert with_settings({}).digest() == "a3e5e3952ea2f3db"
    assert with_settings({"mask.p": 0.5, "training.fanouts": [5, 5]}).digest() == "6d0e0da18741f758"


def test_defaults_stay() -> None:
    """Records and digests name what differs from them: with another default, both would lie.

    A new setting adds its line; where a default has to change, the setting gets a new name.
    """
    golden = json.loads((ROOT / "tests" / "golden" / "defaults.json").read_text())
    defaults = {key: value for key, value in Settings().flat().items() if key not in APART}
    for entry in CONFIGURED.values():
        defaults |= entry.flat(entry.config())
    now = json.loads(json.dumps(defaults))
    assert {key: now.get(key) for key in golden} == golden
    assert now.keys() == golden.keys(), "a new setting: write its default there, too"
