"""Numbers in documents are what the committed records say."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskgae.lab import Outcome, Records, make_cell
from maskgae.lab.suites import suite
from maskgae.lab.tables.blocks import filled
from maskgae.lab.tables.compare import beyond_noise
from maskgae.lab.tables.contest import contest_blocks
from maskgae.lab.tables.kinds import kind_blocks
from maskgae.lab.tables.methods import method_blocks
from maskgae.lab.tables.new_nodes import new_node_block
from maskgae.lab.tables.results import _errors_apart, result_blocks
from maskgae.lab.tables.tuning import tuning_blocks
from maskgae.lab.tables.which import which_blocks

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("document", ["README.md", "docs/results.md", "docs/methods.md"])
def test_tables_come_out_of_the_records(document: str) -> None:
    text = (ROOT / document).read_text()
    records = Records(ROOT / "results")
    blocks = result_blocks(suite("all"), records) | method_blocks(suite("methods"), records)
    assert filled(text, blocks | tuning_blocks(Records(ROOT / "results/tune"))) == text


def test_the_page_of_kinds_shows_the_committed_records() -> None:
    text = (ROOT / "docs/kinds.md").read_text()
    assert filled(text, kind_blocks(Records(ROOT / "results"))) == text


@pytest.mark.parametrize("document", ["docs/contest.md", "docs/which-method.md"])
def test_the_pages_of_the_contest_come_out_of_its_records(document: str) -> None:
    text, records = (ROOT / document).read_text(), Records(ROOT / "results")
    blocks = contest_blocks(records) | which_blocks(records)
    blocks["contest new nodes"] = new_node_block(records)
    assert filled(text, blocks) == text


def test_beyond_noise() -> None:
    ours = {"mean": 0.83, "std": 0.01, "values": [0.83] * 4}
    # Standard errors 0.005 and 0.001: twice their sum in squares is 0.0102.
    assert beyond_noise(ours, {"mean": 0.8405, "std": 0.00316})
    assert not beyond_noise(ours, {"mean": 0.8400, "std": 0.00316})
    assert not beyond_noise({**ours, "values": [0.83] * 2}, {"mean": 0.5, "std": 0.01})


def test_means_are_set_apart_in_standard_errors() -> None:
    first = {"mean": 0.84, "std": 0.03, "values": [0.84] * 9}
    second = {"mean": 0.82, "std": 0.04, "values": [0.82] * 4}
    assert _errors_apart(first, second) == pytest.approx(0.02 / (0.01**2 + 0.02**2) ** 0.5)


def test_presets_meet_the_published_settings_seed_by_seed(tmp_path: Path) -> None:
    """Only seeds that both have count, each against the same seed of the other."""
    records = Records(tmp_path)
    rows = [
        row
        for row in suite("node", ["Cora"])
        if row.table in ("node", "node as published") and row.cell.settings.mask.kind == "edge"
    ]
    scores = {"node": {0: 0.80, 1: 0.90, 2: 0.10}, "node as published": {0: 0.79, 1: 0.87}}
    for row in rows:
        for seed, accuracy in scores[row.table].items():
            times = {"train": 1.0, "evaluate": 1.0}
            records.save(row.cell, Outcome(seed, {"accuracy": accuracy}, {}, {}, {}, times))
    (line,) = result_blocks(rows, records)["same seeds"].splitlines()[2:]
    expected = "| 2 | 85.00 ± 7.07 | 83.00 ± 5.66 | +2.00 ± 1.00 |"
    assert line == f"| node: Cora, edge, accuracy {expected}"


def test_the_log_of_a_grid_is_listed_best_first(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for p, values in ((0.5, (0.7,)), (0.3, (0.8, 0.9))):
        cell = make_cell("node", "Cora", overrides={"mask.p": p})
        for seed, value in enumerate(values):
            records.save(cell, Outcome(seed, {"val_accuracy": value}, {}, {}))
    lines = tuning_blocks(records)["tuning"].splitlines()
    assert lines[2:] == [
        "| node: Cora | `mask.p=0.3` | 85.00 ± 7.07 | 2 |",
        "| node: Cora | `mask.p=0.5` | 70.00 | 1 |",
    ]
