"""Extreme graphs and numbers, through every verb; the large ones by ``make test-all``."""

from pathlib import Path

import pytest
from tests.harness.calls import Warm
from tests.harness.extremes import GRAPHS, LARGE, VERBS, tried

#: Graphs of the default tests: all verbs on the first, two on those that once failed.
DEFAULT = ("matching", "zero matrix", "1e38", "one edge")


@pytest.mark.parametrize("name", DEFAULT)
def test_every_verb_ends_well(name: str, warm: Warm, tmp_path: Path) -> None:
    verbs = VERBS if name == DEFAULT[0] else VERBS[1:2] + VERBS[3:4]
    found = list(tried(name, tmp_path, warm, verbs))
    assert found and not [(text, wrong, ended) for text, ended, wrong in found if wrong]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*GRAPHS, *LARGE])
def test_all_verbs_on_all_graphs(name: str, warm: Warm, tmp_path: Path) -> None:
    found = list(tried(name, tmp_path, warm))
    assert found and not [(text, wrong, ended) for text, ended, wrong in found if wrong]


def test_a_clique_says_that_nothing_is_missing(warm: Warm, tmp_path: Path) -> None:
    (_, ended, wrong), *_ = tried("complete", tmp_path, warm)
    assert ended.code == 2 and not wrong
    assert "has no non-edges to serve as negative samples" in ended.errors


def test_numbers_beyond_all_bounds_are_told_in_a_line(warm: Warm, tmp_path: Path) -> None:
    quick = [text for text in VERBS if "--quick" in text]
    [(_, ended, wrong)] = tried("huge matrix", tmp_path, warm, quick)
    assert ended.code == 1 and not wrong and "check the scale of the features" in ended.errors
