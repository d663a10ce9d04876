"""The page in a real browser; skipped, visibly, where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from maskgae.report import write_page
from report.chromium import Chromium, find_browser
from report.sample import BREAKOUT, IMAGE, SCRIPT, make_report

BROWSER = find_browser()
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="needs Chromium: apt-get install chromium, or name one in CHROMIUM"
)

#: Where a node of the map is in the window.
PIXEL = """(() => {
  const { xaxis, yaxis } = map.place._fullLayout, at = map.place.getBoundingClientRect();
  return [at.left + xaxis._offset + xaxis.d2p(map.x[NODE]),
          at.top + yaxis._offset + yaxis.d2p(map.y[NODE])];
})()"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(path, make_report())
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    assert BROWSER is not None
    with Chromium(BROWSER, tmp_path_factory.mktemp("chromium")) as running:
        yield running


def column(browser: Chromium, number: int) -> list[str]:
    rows = "Array.from(document.querySelectorAll('#link-table tbody tr'))"
    return list(browser.run(f"{rows}.map((row) => row.cells[{number}].textContent)"))


def find(browser: Chromium, query: str) -> str:
    browser.run(f"document.getElementById('query').value = {query!r}")
    browser.run("document.getElementById('search').requestSubmit()")
    return str(browser.run("document.getElementById('status').textContent")).strip()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_loads_without_errors_or_requests(
    browser: Chromium, page: Path, width: int, dark: bool
) -> None:
    browser.open(page, width=width, dark=dark)
    assert browser.errors == []
    # Older releases of Plotly try a picture that they carry within themselves.
    assert [url for url in browser.requests if not url.startswith("data:")] == [page.as_uri()]
    assert browser.run("document.querySelectorAll('.js-plotly-plot').length") == 7
    assert browser.run("document.querySelectorAll('.no-webgl').length") == 0
    assert browser.run("document.documentElement.scrollWidth") <= width
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(17, 19, 23)" if dark else "rgb(246, 247, 249)")


def test_names_are_shown_and_not_run(browser: Chromium, page: Path) -> None:
    browser.open(page)
    shown = browser.run("document.getElementById('link-table').textContent")
    for number, name in enumerate((SCRIPT, IMAGE, BREAKOUT)):
        assert name in shown
        assert name in find(browser, name), "the search shows it"
        # The map marks it, and the hover names it.
        note = browser.run("document.querySelector('#chart-map .annotation-text').textContent")
        assert note.rstrip("…") == name[: len(note.rstrip("…"))]
        browser.run("map.place.scrollIntoView({ behavior: 'instant' })")
        browser.point(*browser.run(PIXEL.replace("NODE", str(number))))
        hover = "document.querySelector('#chart-map .hoverlayer').textContent"
        browser.wait(f"{hover}.includes({name[:80]!r})")
    assert browser.run("document.querySelectorAll('img, svg script, main script').length") == 0
    assert browser.run("typeof window.hacked") == "undefined"
    assert browser.errors == []


def test_search_finds_a_node_and_says_when_there_is_none(browser: Chromium, page: Path) -> None:
    browser.open(page)
    assert find(browser, "007") == "Found “007”: label left, community 1, degree 9."
    span = "map.place.layout.xaxis.range"
    low, high = browser.run(span)
    assert low < browser.run("map.x[3]") < high
    assert high - low < 1.5
    assert find(browser, "nobody") == "No node is called “nobody”."
    assert find(browser, "NODE 12").startswith("Found “node 12”")
    assert find(browser, "node 1").startswith("10 ids contain “node 1”: node 10")
    browser.run("document.querySelector('#status button').click()")
    assert "Found “node 10”" in browser.run("document.getElementById('status').textContent")
    browser.run("document.getElementById('clear').click()")
    low, high = browser.run(span)
    assert high - low > 2
    assert browser.errors == []


def test_links_sort_filter_and_lead_to_the_map(browser: Chromium, page: Path) -> None:
    browser.open(page)
    score = "document.querySelectorAll('#link-table thead button')[3].click()"
    browser.run(score)
    assert column(browser, 0) == [str(i) for i in range(10, 0, -1)]
    browser.run(score)
    assert column(browser, 0) == [str(i) for i in range(1, 11)]
    browser.run("document.querySelectorAll('#link-table thead button')[2].click()")
    assert column(browser, 2) == [f"node {i}" for i in range(10, 20)], "numbers in names count"
    browser.run(
        "document.getElementById('filter').value = '007';"
        "document.getElementById('filter').dispatchEvent(new Event('input'))"
    )
    visible = "document.querySelectorAll('#link-table tbody tr:not([hidden])').length"
    assert browser.run(visible) == 1
    assert browser.run("document.getElementById('filtered').textContent") == "1 of 10 links"
    browser.run("document.querySelector('#link-table tbody tr:not([hidden]) button.id').click()")
    assert "Found “007”" in browser.run("document.getElementById('status').textContent")


def test_a_score_says_what_it_is_made_of(browser: Chromium, page: Path) -> None:
    browser.open(page)
    click = "document.querySelectorAll('#link-table button.why')[1].click()"
    said = "Array.from(document.querySelectorAll('.reasons dl > *'), (e) => e.textContent)"
    browser.run(click)
    assert browser.run(said) == [
        "+2.50 shared neighbours",
        f"+3.00 {SCRIPT}",
        "−0.50 less",
        f"−0.50 {IMAGE}",
        "+2.00 score, of which 0 is that of an average candidate",
    ]
    browser.run(click)
    assert browser.run(said) == []
    browser.run(click)
    browser.run("document.querySelectorAll('#link-table thead button')[0].click()")
    assert browser.run(said) == [], "sorting leaves no reasons behind"
    browser.run("document.querySelectorAll('#link-table button.why')[0].click()")
    assert browser.run(said)[0] == "+10.50 shared neighbours", "of the row that now stands first"
    assert browser.run("typeof window.hacked") == "undefined"
    assert browser.errors == []


def test_colours_and_theme_change(browser: Chromium, page: Path) -> None:
    browser.open(page)
    assert browser.run("Array.from(document.getElementById('colour').options, (o) => o.value)") == [
        "label",
        "community",
        "degree",
    ]
    for kind, traces in (("community", 2), ("degree", 1), ("label", 5)):
        browser.run(
            f"document.getElementById('colour').value = {kind!r};"
            "document.getElementById('colour').dispatchEvent(new Event('change'))"
        )
        assert browser.run("map.place.data.length") == traces
    browser.run("document.getElementById('theme').click()")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(17, 19, 23)"
    browser.wait("map.place.layout.paper_bgcolor === 'rgb(22, 24, 29)'")
    browser.run("document.getElementById('theme').click()")
    assert browser.errors == []
