"""Ablations: cells, findings, and the page that shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskgae.base.errors import InputError
from maskgae.lab import Outcome, Records
from maskgae.lab.sweeps import ABLATIONS, Ablation
from maskgae.lab.tables.ablations import ablation_blocks, draw_ablation, finding, points, table
from maskgae.lab.tables.blocks import filled

ROOT = Path(__file__).parents[2]
P = Ablation("p", "imports", semantics=("strict", "reference"), values=(0.3, 0.7), seeds=3)

#: Accuracy by semantics, ratio and seed.
GIVEN = {
    ("strict", 0.3): (0.80, 0.82, 0.81),
    ("strict", 0.7): (0.70, 0.72, 0.72),
    ("reference", 0.3): (0.75, 0.77, 0.76),
    ("reference", 0.7): (0.76, 0.76, 0.78),
}


@pytest.fixture
def records(tmp_path: Path) -> Records:
    kept = Records(tmp_path)
    for cell, seed in P.runs():
        value = GIVEN[cell.settings.mask.semantics, cell.settings.mask.p][seed]
        audit = {"hidden_share": cell.settings.mask.p}
        kept.save(
            cell, Outcome(seed, {"accuracy": value}, {}, audit, {}, {"train": 1.0, "evaluate": 1.0})
        )
    return kept


def test_cells_differ_in_one_setting_alone() -> None:
    first, second = P.curves()["strict"]
    changed = {
        key for key, value in first.settings.flat().items() if second.settings.flat()[key] != value
    }
    assert changed == {"mask.p"}
    assert len(P.runs()) == len(set(P.runs())) == 2 * 2 * 3


def test_a_finding_names_the_best_and_what_is_as_good(records: Records) -> None:
    text = finding(P, points(P, records))
    assert "under `strict` semantics: best at 0.3, which hides 30 %; all others are worse." in text
    assert "best at 0.7, which hides 70 %; within noise of it: 0.3." in text


def test_a_table_has_a_line_for_each_value(records: Records) -> None:
    lines = table(P, points(P, records)).splitlines()
    assert len(lines) == 4
    assert lines[2] == "| 0.3 | 30 % | 81.00 ± 1.00 | 30 % | 76.00 ± 1.00 |"


def test_a_chart_is_drawn(records: Records, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = draw_ablation(P, points(P, records), tmp_path / "charts")
    assert [path.suffix for path in made] == [".png", ".svg"]
    assert all(path.stat().st_size > 1000 for path in made)


def test_what_was_not_run_says_so(tmp_path: Path) -> None:
    (block,) = ablation_blocks([P], Records(tmp_path)).values()
    assert block.startswith("Not run yet.") and P.command in block


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("r", "imports"), "no ablation is called 'r'"),
        (("p", "imports", "node", "path"), "mask.p belongs to edge masks"),
    ],
)
def test_wrong_ablations_are_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Ablation(*arguments)


def test_the_page_shows_what_the_records_say() -> None:
    text = (ROOT / "docs" / "analysis.md").read_text()
    assert filled(text, ablation_blocks(ABLATIONS, Records(ROOT / "results"))) == text
    assert all(f"<!-- begin ablation {each.name} -->" in text for each in ABLATIONS)
    for each in ABLATIONS:
        if f"charts/{each.name}.svg" in text:
            assert (ROOT / "docs" / "charts" / f"{each.name}.svg").exists()
