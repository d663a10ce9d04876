import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.report import ReportData, write_page
from maskgae.report import map as map_room
from maskgae.report.map import drawn_nodes, map_data
from maskgae.report.page import render
from report.sample import BREAKOUT, IMAGE, SCRIPT, make_report


class Elements(HTMLParser):
    """Collects tags, attributes and text as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def embedded(page: str) -> dict[str, dict[str, list[object]]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


@pytest.fixture
def report() -> ReportData:
    return make_report()


@pytest.fixture(scope="module")
def page() -> str:
    return render(make_report(), Stream(0))


def test_names_are_text_and_never_tags(page: str) -> None:
    seen = Elements(page)
    assert seen.tags.count("script") == 3
    assert "img" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    for name in (SCRIPT, IMAGE, BREAKOUT):
        assert name in seen.text
        assert name in embedded(page)["map"]["ids"]


def test_the_page_holds_all_it_needs(page: str) -> None:
    seen = Elements(page)
    for name, value in seen.attributes:
        if name in ("src", "href", "action"):
            assert value is not None
            assert value.startswith(("#", "data:"))
    assert "default-src 'none'" in page
    assert page.count("* plotly.js v") == 1


def test_every_section_is_there(page: str) -> None:
    sections = re.findall(r'<section id="(\w+)">', page)
    wanted = ["graph", "settings", "training", "metrics", "scores", "degrees", "map", "links"]
    assert sections == wanted
    assert set(embedded(page)["charts"]) == {
        "loss",
        "auc",
        "bars",
        "histogram",
        "calibration",
        "degree",
    }
    assert "calibrated for as many edges as negative samples" in page
    assert "chance of an edge to be hidden" in page, "a setting is explained by its own help"


def test_tables_have_headings(page: str) -> None:
    assert '<th scope="col">percent</th><th scope="col">AUC</th><th scope="col">AP</th>' in page
    assert '<th scope="row"><strong>MaskGAE</strong></th><td>90.00</td><td>90.00</td>' in page
    assert '<th scope="row"><code>mask.p</code></th><td>0.3</td>' in page


def test_names_come_back_to_the_letter(report: ReportData) -> None:
    name = "\ra\n b\t'\"&amp;{{ title }}{% endif %}"
    page = render(replace(report, links=[(name, "007", 0.99999999)]), Stream(0))
    assert name in Elements(page).text
    assert ">0.999999" in Elements(page).text
    assert "\r" not in page, "a browser would make it a line feed"


def test_a_bare_report_leaves_sections_out() -> None:
    bare = ReportData("bare", ["a", "b", "c"], np.array([[0], [1]]), np.eye(3))
    page = render(bare, Stream(0))
    assert re.findall(r'<section id="(\w+)">', page) == ["graph", "map"]
    assert embedded(page)["map"]["groups"] == {"community": {"names": ["1"], "of": [0, 0, -1]}}


def test_a_report_without_nodes_can_be_written() -> None:
    empty = ReportData("empty", [], np.empty((2, 0), dtype=int), np.empty((0, 4)))
    assert re.findall(r'<section id="(\w+)">', render(empty, Stream(0))) == ["graph"]


def test_written_whole_and_the_same_twice(tmp_path: Path, report: ReportData) -> None:
    write_page(tmp_path / "new" / "report.html", report)
    write_page(tmp_path / "new" / "again.html", report)
    first, second = ((tmp_path / "new" / f"{n}.html").read_bytes() for n in ("report", "again"))
    assert first == second
    assert len(list((tmp_path / "new").iterdir())) == 2


def test_map_groups_are_numbered_by_size(report: ReportData) -> None:
    drawn = map_data(report, [], Stream(0))
    assert drawn["groups"]["label"]["names"][:2] == ["right", "left"]
    assert drawn["groups"]["label"]["of"][0] == -1
    assert drawn["groups"]["label"]["of"][10:] == [0] * 10
    community = drawn["groups"]["community"]["of"].tolist()
    assert community == [0] * 10 + [1] * 10
    assert drawn["degree"].tolist() == [10, *[9] * 9, 10, *[9] * 9]


def test_a_sample_holds_the_ends_of_the_links(
    report: ReportData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_room, "MAX_POINTS", 6)
    links = [("007", "node 19", 0.9)]
    nodes = drawn_nodes(report, links, Stream(0))
    assert len(nodes) == 6
    assert {3, 19} <= set(nodes.tolist())
    assert "a sample of 6 of the 20 nodes" in render(report, Stream(0))


def test_rows_must_fit_the_ids() -> None:
    with pytest.raises(InputError, match="20 ids and 3 rows"):
        make_report(embedding=np.eye(3))


def test_the_page_says_what_to_expect_of_its_numbers() -> None:
    page = " ".join(render(make_report(), Stream(0)).split())
    assert "Brier score 0.062" in page
    assert "25.0 % of the first and 12.5 % of the first 2 links per node" in page
    assert "as the test hid, 1,200" in page
    silent = render(make_report(record={}), Stream(0))
    assert "Brier" not in silent and "held-out edges: what" not in silent
