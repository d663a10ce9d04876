"""The page of reliability has the figures that the harnesses left, and no others."""

from tests.harness.figures import PAGE, RESULTS, ROWS, TABLES, blocks

from maskgae.lab.tables.blocks import filled


def test_the_page_is_filled_from_what_was_counted() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text, blocks()) == text, "run 'make figures'"


def test_every_figure_has_its_place() -> None:
    text = PAGE.read_text(encoding="utf-8")
    names = ["reliability", *(f"reliability-{name}" for name in TABLES)]
    assert all(f"<!-- begin {name} -->" in text for name in names)
    assert {path.stem for path in RESULTS.glob("*.json")} <= set(ROWS)
