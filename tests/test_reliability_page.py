"""The page of reliability has the figures that the harnesses left, and no others."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.figures import PAGE, RESULTS, ROWS, TABLES, blocks

from maskgae.lab.tables.blocks import filled

TESTS = Path(__file__).parent


def test_the_page_is_filled_from_what_was_counted() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text, blocks()) == text, "run 'make figures'"


def test_every_figure_has_its_place() -> None:
    text = PAGE.read_text(encoding="utf-8")
    names = ["reliability", *(f"reliability-{name}" for name in TABLES)]
    assert all(f"<!-- begin {name} -->" in text for name in names)
    assert {path.stem for path in RESULTS.glob("*.json")} <= set(ROWS)


def findings() -> Iterator[tuple[str, str, str]]:
    """What was found, and of its tests each file with a phrase of a name, or with none."""
    rows = PAGE.read_text(encoding="utf-8").rpartition("| found | test |")[2].splitlines()
    for row in rows[2:]:
        found, tests = (cell.strip() for cell in row.strip("|").split("|"))
        file = ""
        for text in tests.split("; "):
            named = re.fullmatch(r"`(\S+\.py)`(?:: (.+))?", text)
            file, phrase = (named[1], named[2] or "") if named else (file, text)
            yield found, file, phrase


@pytest.mark.parametrize(("found", "file", "phrase"), list(findings()))
def test_what_was_found_has_its_test(found: str, file: str, phrase: str) -> None:
    names = re.findall(r"def (test_\w+)", (TESTS / file).read_text(encoding="utf-8"))
    wanted = re.sub(r"\W+", "_", phrase.lower())
    assert any(wanted in name for name in names), f"{file} has no test of '{phrase}'"
