"""Numbers in documents are what the committed records say."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskgae.experiment import Store
from maskgae.experiment.suites import suite
from maskgae.report.blocks import filled
from maskgae.report.results import _errors_apart, beyond_noise, result_blocks

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("document", ["README.md", "docs/results.md"])
def test_tables_come_out_of_the_records(document: str) -> None:
    text = (ROOT / document).read_text()
    assert filled(text, result_blocks(suite("all"), Store(ROOT / "results"))) == text


def test_beyond_noise() -> None:
    ours = {"mean": 0.83, "std": 0.01, "values": [0.83] * 4}
    # Standard errors 0.005 and 0.001: twice their sum in squares is 0.0102.
    assert beyond_noise(ours, {"mean": 0.8405, "std": 0.00316})
    assert not beyond_noise(ours, {"mean": 0.8400, "std": 0.00316})
    assert not beyond_noise({**ours, "std": None}, {"mean": 0.5, "std": 0.01})


def test_means_are_set_apart_in_standard_errors() -> None:
    first = {"mean": 0.84, "std": 0.03, "values": [0.84] * 9}
    second = {"mean": 0.82, "std": 0.04, "values": [0.82] * 4}
    assert _errors_apart(first, second) == pytest.approx(0.02 / (0.01**2 + 0.02**2) ** 0.5)
