"""Rows about links: the rules with every method, and HeaRT's table."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskgae.lab import METHODS, Outcome, Records, evaluate, make_cell
from maskgae.lab.link_rows import BASELINES
from maskgae.lab.row import Row
from maskgae.lab.suites import suite
from maskgae.lab.tables.link_parts import heart_table, parts_findings, parts_table

SMALL = {"training.max_steps": 5, "split.hard_negatives": 20}


def test_the_rules_are_given_to_every_method() -> None:
    assert set(BASELINES) <= set(METHODS)
    rows = suite("parts", ["Cora"])
    assert [row.cell.method for row in rows] == ["maskgae", "maskgae", "untrained", *BASELINES]
    assert {row.cell.settings.scorer.kind for row in rows} == {"combined"}
    assert len({row.cell.digest() for row in rows}) == len(rows)


@pytest.mark.parametrize("method", ["untrained", "gae"])
def test_a_method_alone_the_rules_alone_and_both(method: str) -> None:
    cell = make_cell(
        "link", "imports", overrides={"scorer.kind": "combined", **SMALL}, method=method
    )
    record = evaluate(cell, [200])
    assert {"network", "rules", "untrained"} <= record["sanity"].keys()
    if method == "untrained":  # its own score is that of the row
        alone, row = (record["sanity"][name]["auc"]["mean"] for name in ("network", "untrained"))
        assert alone == pytest.approx(row)


def outcome(seed: int, own: float, network: float, rules: float) -> Outcome:
    parts = {"": own, "network": network, "rules": rules}
    rows = {
        name: {"rank_hits@10": hits, "rank_mrr": hits / 2, "auc": 0.9, "hard_mrr": hits / 4}
        for name, hits in parts.items()
    }
    return Outcome(seed, rows.pop(""), rows, {}, {}, {"train": 1.0, "evaluate": 1.0})


def kept(folder: Path, rows: list[Row], gains: list[float]) -> Records:
    """Three seeds of each row, so far above the rules' 0.5."""
    records = Records(folder)
    for row, gain in zip(rows, gains, strict=True):
        for seed, noise in ((200, 0.01), (201, -0.01), (202, 0.0)):
            records.save(row.cell, outcome(seed, 0.5 + gain + noise, 0.4 + gain, 0.5))
    return records


def test_what_masking_adds_is_said_in_figures(tmp_path: Path) -> None:
    rows = suite("parts", ["Cora"])[:4]
    records = kept(tmp_path, rows, [0.04, 0.01, 0.0, 0.02])
    found = [(row, records.record(row.cell, [200, 201, 202])) for row in rows]
    said = parts_findings(found)
    assert "MaskGAE **+4.00 ± 0.58**" in said and "the best baseline, sgc, **+2.00 ± 0.58**" in said
    assert "Masked less unmasked: **+3.00 ± 0.00** with the rules, **+3.00 ± 0.00** alone." in said
    table = parts_table(found)
    assert "| Cora, MaskGAE without a mask | 3 | 41.00 ± 0.00 |" in table
    assert "| Cora, rules alone, combined | 3 |  |  |  | 50.00 ± 0.00 |" in table


def test_published_rows_stand_beside_ours(tmp_path: Path) -> None:
    rows = suite("heart", ["Cora"])
    assert [row.cell.method for row in rows] == ["untrained", "maskgae"]
    assert {row.cell.settings.split.hard_rule for row in rows} == {"heart"}
    assert rows[1].cell.settings.training.select == "val_hard"
    records = kept(tmp_path, rows[1:], [0.1])
    lines = heart_table([(row, records.record(row.cell, [200])) for row in rows]).split("\n")
    assert lines[0] == "|  | Cora (seeds) | published | CiteSeer (seeds) | published |"
    assert "| MaskGAE, network alone | 12.50 (1) |  |  |  |" in lines
    assert "| GAE |  | 18.30 |  | 25.30 |" in lines
    assert "| common neighbours |  | 9.78 |  | 8.42 |" in lines
