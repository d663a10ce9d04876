"""The site is built and opened in a browser: nothing missing, nothing fetched, everything drawn."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from report.chromium import Chromium, find_browser

pytest.importorskip("myst_nb", reason="needs what builds the site: pip install maskgae[docs]")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
BROWSER = find_browser()
TUTORIALS = [page for page in (ROOT / "docs" / "tutorials").glob("*.md") if page.stem != "index"]
#: A tutorial takes no longer than this, in seconds of the processor: other work may run beside it.
LONGEST = 120
#: One page of each kind.
PAGES = (
    "index.html",
    "tutorials/csv-to-links.html",
    "contest.html",
    "api/generated/maskgae.MaskGAE.html",
    "api/generated/maskgae.nn.losses.html",
)


def spent() -> float:
    """Seconds of the processor that children of this process have taken so far."""
    times = os.times()
    return times.children_user + times.children_system


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    before = spent()
    result = subprocess.run([*command, "docs", folder], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return folder, spent() - before


@pytest.fixture(scope="module")
def site(built: tuple[Path, float]) -> Path:
    return built[0]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if BROWSER is None:
        pytest.skip("needs Chromium: apt-get install chromium, or name one in CHROMIUM")
    with Chromium(BROWSER, tmp_path_factory.mktemp("chromium")) as running:
        yield running


def visit(browser: Chromium, url: str, dark: bool = False) -> None:
    browser.events.clear()
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.call("Emulation.setEmulatedMedia", features=[scheme])
    browser.call("Page.navigate", url=url)
    browser.wait("document.readyState === 'complete'")
    time.sleep(0.5)  # what scripts do after the page has loaded


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_pages_load_without_errors_or_requests(
    browser: Chromium, address: str, page: str, dark: bool
) -> None:
    visit(browser, address + page, dark)
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith((address, "data:"))] == []
    theme = browser.run("document.documentElement.dataset.theme")
    assert theme == ("dark" if dark else "light")
    images = "Array.from(document.images).every((one) => one.complete && one.naturalWidth > 0)"
    assert browser.run(images)


def test_search_finds_a_function(browser: Chromium, address: str) -> None:
    visit(browser, f"{address}search.html?q=predict_links")
    browser.wait("document.querySelectorAll('#search-results li a').length > 0")
    first = browser.run("document.querySelector('#search-results li a').textContent")
    assert first == "maskgae.MaskGAE.predict_links"


def test_equations_are_drawn(browser: Chromium, address: str) -> None:
    visit(browser, f"{address}api/generated/maskgae.MaskGAENet.html")
    assert browser.run("document.querySelectorAll('math[display=block]').length") > 0
    size = "document.querySelector('math[display=block] mfrac, math mi').getBoundingClientRect()"
    assert browser.run(f"{size}.width") > 2
    assert browser.run("document.querySelectorAll('.problematic').length") == 0


def test_every_tutorial_ran_in_time(built: tuple[Path, float]) -> None:
    site, seconds = built
    table = (site / "tutorials" / "index.html").read_text()
    assert table.count("✅") == len(TUTORIALS)
    assert seconds < LONGEST * len(TUTORIALS)
