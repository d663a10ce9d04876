"""The rows of ``reproduce methods``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from maskgae.datasets.generated import generate
from maskgae.lab.all_methods import CHECKS, CUTS, LARGE, LONGER, SECONDS, cut, method_rows
from maskgae.lab.cell import METHODS
from maskgae.lab.protocol import run_seed
from maskgae.lab.published import LINKS, NODES, published
from maskgae.lab.row import UNSEEN


def test_every_method_is_there_once_for_each_task_and_dataset() -> None:
    rows = method_rows()
    assert set(SECONDS) == set(METHODS) - {"maskgae-frozen", "untrained"}
    cells = [(r.cell.task, r.cell.dataset, r.cell.method, r.cell.settings.mask.kind) for r in rows]
    assert len(set(cells)) == len(cells) - len(CHECKS)
    places = {task: {cell[1] for cell in cells if cell[0] == task} for task in ("link", "node")}
    assert places["link"] == {"Cora", "CiteSeer", "PubMed", "Collab"}
    assert places["node"] == set(LONGER) - {"Collab"}
    assert ("link", "PubMed", "seal", "edge") in cells and ("node", "Cora", "gat", "edge") in cells
    assert len({row.cell.digest() for row in rows}) == len(rows)


def test_rows_are_judged_as_the_page_says() -> None:
    for row in method_rows():
        cell = row.cell
        assert row.numbers()[0] == UNSEEN
        check = row.table == "methods checks"
        assert row.seeds == (5 if cell.dataset in ("Cora", "CiteSeer") and not check else 3)
        if cell.task == "link":
            assert cell.settings.split.hard_negatives == (0 if cell.dataset == "Collab" else 500)
        elif cell.dataset in ("Cora", "CiteSeer", "PubMed") and cell.method == "dgi":
            assert cell.settings.probe.random_splits == 20


def test_on_the_largest_graphs_maskgae_is_as_published_and_others_are_narrow() -> None:
    for row in method_rows():
        if row.cell.dataset in LARGE:
            assert row.cell.method in LARGE[row.cell.dataset]
            assert (row.cell.method == "maskgae") == (row.cell.preset is not None)
            own = row.cell.own
            assert own is None or (own.dim <= 256 and own.epochs <= 500)


@pytest.mark.parametrize("name", ["arXiv", "MAG"])
def test_the_rows_of_the_largest_graphs_run(name: str) -> None:
    graph = generate(60, 150, num_features=8, communities=3)
    for row in method_rows():
        if row.cell.dataset == name and row.cell.method != "maskgae":
            settings = row.cell.settings.updated({"training.max_steps": 1})
            run = run_seed(replace(row.cell, settings=settings), graph, UNSEEN)
            assert 0 <= run.metrics["accuracy"] <= 1, row.cell.label


def test_what_is_cheap_comes_first() -> None:
    order = [(row.cell.dataset, row.cell.method) for row in method_rows()]
    assert order[0] == ("Cora", "mlp")
    assert order.index(("Cora", "cca-ssg")) < order.index(("Cora", "graphmae"))
    assert order.index(("CiteSeer", "dgi")) < order.index(("PubMed", "dgi"))


def test_published_numbers_are_those_of_known_methods() -> None:
    assert {line.split()[0] for text in (LINKS, NODES) for line in text.strip().split("\n")} <= {
        *SECONDS
    }
    assert published("link", "PubMed", "seal")["ap"] == {"mean": 0.9404, "std": 0.008}
    assert published("node", "Computers", "cca-ssg")["accuracy"]["mean"] == 0.8874
    assert published("node", "dblp", "dgi") == published("node", "Cora", "mgae") == {}


def test_what_is_cut_is_said_of_known_methods_and_datasets() -> None:
    assert set(CUTS) <= set(SECONDS)
    assert all(set(places) <= {"", *LONGER} for places in CUTS.values())
    for row in method_rows():
        own = row.cell.own
        if own is not None and row.cell.dataset not in ("Cora", "CiteSeer", "dblp"):
            shortened = own.epochs < type(own)().epochs
            assert not shortened or cut(row.cell.method, row.cell.dataset), row.cell


def test_the_readme_names_their_number() -> None:
    others = set(SECONDS) - {"maskgae", "sgc"}
    assert len(others) == 19
    text = (Path(__file__).parents[2] / "README.md").read_text()
    assert "the nineteen other methods of the paper" in text and "docs/methods.md" in text
