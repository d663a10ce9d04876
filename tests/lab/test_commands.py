"""The commands that run tables: what they run, where they go on, and what they write."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maskgae.base.errors import InputError
from maskgae.cli import app
from maskgae.lab import suites
from maskgae.lab.cell import make_cell
from maskgae.lab.row import Row

RUNNER = CliRunner()
SHORT = {"training.epochs": 2, "encoder.hidden": 8, "encoder.dim": 8}


def run(*arguments: str | Path) -> str:
    result = RUNNER.invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def rows() -> Iterator[Row]:
    """A table of two masks on the embedded graph, and one of another task."""
    for mask in ("edge", "path"):
        yield Row("link", make_cell("link", "imports", mask=mask, overrides=SHORT), 2, {})
    yield Row("node", make_cell("node", "imports", overrides=SHORT), 1, {})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a page of the project, and a small suite."""
    (tmp_path / "docs").mkdir()
    marks = "".join(f"<!-- begin {name} --><!-- end {name} -->\n" for name in ("link", "node"))
    (tmp_path / "docs/results.md").write_text(marks)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(suites, "_all_rows", rows)
    return tmp_path


def lines(project: Path) -> list[tuple[Path, str]]:
    """Every kept run: its file and its line."""
    files = sorted((project / "results").rglob("*.jsonl"))
    return [(path, line) for path in files for line in path.read_text().splitlines()]


def test_reproduce_runs_what_is_missing_and_fills_the_page(project: Path) -> None:
    words = ("reproduce", "all", "--quiet", "--json", project / "records.json")
    assert "0 of 5 runs are there, 5 to go" in run(*words)
    kept = json.loads((project / "records.json").read_text())
    assert [record["seeds"] for record in kept] == [[0, 1], [0, 1], [0]]
    page = (project / "docs/results.md").read_text()
    assert page.count("| imports, edge | 2 |") == 1 and page.count("| imports, path | 2 |") == 1
    assert len(lines(project)) == 5
    assert "5 of 5 runs are there, 0 to go" in run("reproduce", "all", "--quiet")
    assert (project / "docs/results.md").read_text() == page


def test_a_deleted_record_comes_back_the_same(project: Path) -> None:
    run("reproduce", "link", "--quiet")
    page, kept = (project / "docs/results.md").read_text(), lines(project)
    path, first = kept[0]
    path.write_text("".join(f"{line}\n" for _, line in kept[1:]))
    assert "3 of 4 runs are there, 1 to go" in run("reproduce", "link", "--quiet")
    again = lines(project)[-1][1]
    assert json.loads(again)["metrics"] == json.loads(first)["metrics"]
    assert (project / "docs/results.md").read_text() == page


def test_part_of_a_suite_leaves_the_rest_of_the_page_alone(project: Path) -> None:
    run("reproduce", "all", "--quiet")
    page = (project / "docs/results.md").read_text()
    run("reproduce", "node", "--quiet")
    run("reproduce", "link", "--datasets", "imports", "--seeds", "1", "--quiet")
    assert (project / "docs/results.md").read_text() == page


def test_other_seeds_are_printed_and_kept_off_the_page(project: Path) -> None:
    before = (project / "docs/results.md").read_text()
    text = run("reproduce", "node", "--first-seed", "100", "--quiet")
    assert "imports, edge" in text
    assert (project / "docs/results.md").read_text() == before


def test_tables_without_records_say_so(project: Path) -> None:
    assert "not run" not in (project / "docs/results.md").read_text()
    run("reproduce", "all", "--no-run")
    assert "not run" in (project / "docs/results.md").read_text()
    assert not lines(project)


def test_data_that_is_not_here_is_left_out(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskgae.datasets.registry.is_available", lambda name: False)
    text = run("reproduce", "all", "--quiet")
    assert "not on this machine, left out: imports" in text
    assert not lines(project)


def test_methods_are_a_suite_of_their_own(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = make_cell("node", "imports", method="sgc")
    row = Row("methods node", cell, 1, {"accuracy": {"mean": 0.5, "std": 0.1}}, 200)
    monkeypatch.setattr(suites, "method_rows", lambda: [row])
    page = project / "docs/methods.md"
    page.write_text("<!-- begin methods node --><!-- end methods node -->\n")
    assert "0 of 1 runs are there, 1 to go" in run("reproduce", "methods", "--quiet")
    assert "| imports, sgc | 1 |" in page.read_text()
    assert "1 of 1 runs are there, 0 to go" in run("reproduce", "methods", "--quiet")
    others = ("reproduce", "methods", "--methods", "dgi, grace", "--quiet")
    assert "0 of 0 runs" in run(*others)
    assert "0 of 5 runs" in run("reproduce", "all", "--quiet")  # which leaves the page as it is
    assert "| imports, sgc | 1 |" in page.read_text()


def test_tune_goes_on_where_it_was(project: Path) -> None:
    words = ("tune", "link", "--dataset", "imports", "--seeds", "1", "--set", "training.epochs=2")
    first = run(*words, "--grid", "mask.p=[0.2,0.5]")
    assert "mask.p" in first
    found = lines(project)
    assert len(found) == 2
    assert not any('"auc"' in line for _, line in found)  # the test was not looked at
    log = project / "log.json"
    run(*words, "--grid", "mask.p=[0.2,0.5,0.7]", "--quiet", "--json", log)
    assert len(lines(project)) == 3
    tried = {point["settings"]["mask.p"] for point in json.loads(log.read_text())["points"]}
    assert tried == {0.2, 0.5, 0.7}


def test_tune_tries_settings_of_a_baseline(project: Path) -> None:
    words = ("tune", "link", "--method", "mgae", "--seeds", "1", "--set", "training.max_steps=2")
    assert "mgae.dropout" in run(*words, "--grid", "mgae.dropout=[0.2,0.5]")
    assert len(lines(project)) == 2


@pytest.mark.parametrize(
    ("grids", "message"),
    [
        (["mask.p=[]"], "takes a setting and its values"),
        (["mask.p"], "takes a setting and its values"),
        (["mask.p=[0.1]", "mask.p=[0.2]"], "twice"),
    ],
)
def test_grids_that_are_none(grids: list[str], message: str) -> None:
    words = [word for grid in grids for word in ("--grid", grid)]
    with pytest.raises(InputError, match=message):
        RUNNER.invoke(app, ["tune", "link", *words], catch_exceptions=False)


def test_a_misspelt_dataset_is_named() -> None:
    with pytest.raises(InputError, match="did you mean 'Cora'"):
        RUNNER.invoke(app, ["reproduce", "link", "--datasets", "Corra"], catch_exceptions=False)


def test_a_misspelt_method_is_named() -> None:
    with pytest.raises(InputError, match="did you mean 'grace'"):
        RUNNER.invoke(app, ["reproduce", "methods", "--methods", "grce"], catch_exceptions=False)


def test_kinds_have_no_methods_to_choose_from() -> None:
    with pytest.raises(InputError, match="--methods grace means nothing"):
        RUNNER.invoke(app, ["reproduce", "kinds", "--methods", "grace"], catch_exceptions=False)


def test_ablate_runs_a_sweep(project: Path) -> None:
    text = run(
        *("ablate", "dim", "--values", "4,8", "--seeds", "1", "--set", "training.epochs=2"),
        *("--charts", project / "charts", "--quiet", "--json", project / "sweep.json"),
    )
    (curves,) = json.loads((project / "sweep.json").read_text()).values()
    assert [point["value"] for point in curves["strict"]] == [4, 8]
    assert "encoder.dim=4" in text and "encoder.dim=8" in text
    assert "one run per value cannot tell" in text
    assert list((project / "charts").iterdir())


@pytest.mark.parametrize(
    "words", [("--seeds", "5"), ("--dataset", "Cora"), ("--set", "mask.p=0.5"), ("--values", "1")]
)
def test_options_of_one_sweep_are_refused_for_all(words: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="is for one sweep"):
        RUNNER.invoke(app, ["ablate", "all", "--no-run", *words], catch_exceptions=False)
