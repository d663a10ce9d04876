"""A list that is directed, timed, weighted and typed at once, with text and dates: one command."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from maskgae.cli import main
from report.chromium import Chromium, find_browser

TOPICS = ("graphs", "words", "images", "sounds")
BROWSER = find_browser()
QUICK = ["--set", "training.epochs=4", "--quiet"]


def write(folder: Path, seed: int = 0) -> tuple[Path, Path]:
    """People write papers and papers cite papers, each on one of four topics, over ten years."""
    random = np.random.default_rng(seed)
    people, papers = 40, 120
    topic = {f"person {i}": i % 4 for i in range(people)}
    rows = [("name", "kind", "about", "born", "size")]
    rows += [
        (f"person {i}", "person", f"works on {TOPICS[i % 4]}", f"19{60 + i}-03-01", str(i % 7))
        for i in range(people)
    ]
    edges = [("from", "to", "day", "weight")]
    for i in range(papers):
        name, own = f"paper {i}", int(random.integers(4))
        topic[name] = own
        day = f"{2010 + i // 12}-{1 + i % 12:02d}-15"
        rows.append((name, "paper", f"on {TOPICS[own]} and more", day, str(i % 5)))
        near = [x for x, t in topic.items() if t == own and x != name]
        older = [x for x in near if x.startswith("paper")]
        authors = random.choice([x for x in near if x.startswith("person")], 3, replace=False)
        edges += [(author, name, day, str(1 + i % 3)) for author in authors]
        for cited in random.permutation(older)[:4]:
            edges.append((name, cited, day, "1.5"))
    paths = folder / "edges.csv", folder / "nodes.csv"
    for path, table in zip(paths, (edges, rows), strict=True):
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(table)
    return paths


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("kinds")
    edges, nodes = write(here)
    kinds = ["--type", "kind", "--directed", "--time", "day"]
    assert call("fit", edges, "--nodes", nodes, *kinds, "--out", here / "run", *QUICK) == 0
    return here


def call(*words: object) -> int:
    with patch.object(sys, "argv", ["maskgae", *map(str, words)]):
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_one_command_fits_and_writes_its_page(folder: Path) -> None:
    names = {path.name for path in (folder / "run").iterdir()}
    assert {"report.html", "embeddings.parquet", "metrics.json", "scorer.json"} <= names


def test_links_say_what_comes_next_and_join_types_that_may(folder: Path) -> None:
    out = folder / "links.csv"
    assert call("links", folder / "run", "--out", out, "--top", 3) == 0
    found = rows_of(out)
    assert found
    assert not any(row["target"].startswith("person") for row in found)
    between = ["--between", "person", "paper"]
    assert call("links", folder / "run", "--out", out, "--top", 3, *between) == 0
    assert {row["source"].split()[0] for row in rows_of(out)} == {"person"}
    assert call("links", folder / "run", "--out", out, "--in", "--node", "paper 3", *between) == 0
    assert {row["source"].split()[0] for row in rows_of(out)} == {"person"}
    assert {row["target"] for row in rows_of(out)} == {"paper 3"}


def test_every_other_verb_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, pairs = folder / "run", folder / "pairs.csv"
    pairs.write_text("source,target\npaper 119,paper 0\nperson 1,paper 2\n")
    assert call("score", run, pairs, "--out", folder / "scores.csv") == 0
    assert len(rows_of(folder / "scores.csv")) == 2
    assert call("embed", run, "--out", folder / "vectors.parquet") == 0
    assert call("similar", run, "paper 7", "--top", 3) == 0
    assert call("report", run) == 0
    known = {(row["from"], row["to"]) for row in rows_of(folder / "edges.csv")}
    free = next(f"paper {i}" for i in range(119) if ("paper 119", f"paper {i}") not in known)
    assert call("why", run, "paper 119", free) == 0
    assert "paper 119" in capsys.readouterr().out


@pytest.mark.skipif(
    BROWSER is None, reason="needs Chromium: apt-get install chromium, or name one in CHROMIUM"
)
def test_its_page_explains_a_link_in_the_browser(folder: Path, tmp_path: Path) -> None:
    assert BROWSER is not None
    page = folder / "run/report.html"
    with Chromium(BROWSER, tmp_path) as browser:
        browser.open(page)
        assert browser.errors == []
        rows = "document.querySelectorAll('#link-table tbody tr')"
        assert browser.run(f"{rows}.length") > 0
        assert not browser.run(f"{rows}[0].cells[1].textContent").startswith("person")
        browser.run(f"{rows}[0].click()")
        assert "the network" in browser.run("document.body.textContent")
        assert browser.errors == []


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["links", "run", "--between", "paper", "persn"], "no node is of the type 'persn'"),
        (["links", "run", "--between", "paper", "person"], "no edge goes from 'paper' to 'person'"),
    ],
)
def test_bad_questions_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], rule: str
) -> None:
    assert call(words[0], folder / words[1], *words[2:]) == 2
    told = capsys.readouterr().err
    assert rule in " ".join(told.split())
    assert "Traceback" not in told
