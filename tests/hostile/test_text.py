"""Names made to harm: on the terminal, in a spreadsheet, in a path."""

import csv
import os
import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from tests.harness.calls import Warm
from typer.testing import CliRunner

from maskgae.cli import app, main, screen
from maskgae.datasets.generated import generate

RUNNER = CliRunner()

#: A name that clears the screen, colours it, rings, reverses the text and opens markup.
LOUD = "x\x1b[2J\x1b[31m\x07\u202e[bold red]\x9b"
FORMULAS = ("=cmd|'/c calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1")
PATHS = ("../../evil", "/tmp/evil", "..", "C:\\evil", "a/b")


def run(*arguments: str | Path) -> str:
    result = RUNNER.invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a graph whose nodes, columns, classes and files are named by an enemy."""
    folder = tmp_path_factory.mktemp("text")
    graph = generate(40, 150, num_features=2, communities=2, seed=0)
    names = [LOUD, *FORMULAS, *PATHS]
    names += [f"n{i}" for i in range(len(names), 40)]
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["source", "target"])
        writer.writerows((names[u], names[v]) for u, v in graph.pairs.T.tolist())
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["id", LOUD, "group"])
        writer.writerows((name, i % 7, f"{LOUD}{i % 2}") for i, name in enumerate(names))
    return folder


def quiet_output(text: str) -> None:
    """No character that a terminal obeys, but for line ends and the colours of our own."""
    ours = re.sub(r"\x1b\[[0-9;]*m", "", text) if "\x1b" in text else text
    assert all(c.isprintable() or c == "\n" for c in ours), repr(ours)
    assert "\x1b[31m" not in text


@pytest.fixture(scope="module")
def fitted(home: Path) -> Path:
    out = home / f"run{LOUD}"
    edges = home / f"{LOUD}.csv"
    edges.write_bytes((home / "edges.csv").read_bytes())
    table = ("--nodes", home / "nodes.csv", "--label", "group")
    output = run("fit", edges, *table, "--out", out, "--set", "training.epochs=2")
    quiet_output(output)
    assert "\\x1b[2J" in output and "[bold red]" in output, "names are shown, spelt out"
    return out


def test_commands_print_names_spelt_out(fitted: Path, tmp_path: Path) -> None:
    out = tmp_path / f"{LOUD}.csv"
    quiet_output(run("embed", fitted, "--out", out))
    quiet_output(run("links", fitted, "--out", out, "--top", "2"))
    quiet_output(run("score", fitted, out, "--out", out))
    quiet_output(run("report", fitted))
    quiet_output(run("links", fitted, "--node", LOUD))
    quiet_output(run("similar", fitted, LOUD))


def test_so_does_an_ingest(home: Path, tmp_path: Path) -> None:
    edges, table = tmp_path / f"{LOUD}.csv", ("--nodes", home / "nodes.csv", "--label", "group")
    edges.write_bytes((home / "edges.csv").read_bytes())
    output = run("ingest", edges, *table, "--out", tmp_path / f"store{LOUD}")
    quiet_output(output)
    assert "\\x1b[2J" in output and "[bold red]" in output
    quiet_output(run("analyze", "graph", "--edges", edges))


def test_errors_print_names_spelt_out(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(stderr=True, force_terminal=True, highlight=False)
    monkeypatch.setattr(screen, "err", console)
    monkeypatch.setattr("sys.argv", ["maskgae", "fit", f"{LOUD}.csv", "--out", str(home / "no")])
    with pytest.raises(SystemExit):
        main()
    text = capsys.readouterr().err
    assert "\x1b[2J" not in text and "\x07" not in text and "\u202e" not in text
    assert "\\x1b[2J" in text


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("command", ["embed", "links", "score"])
def test_formulas_are_disarmed_on_request(
    fitted: Path, home: Path, tmp_path: Path, ending: str, command: str
) -> None:
    out = tmp_path / f"out.{ending}"
    given = [home / "edges.csv"] if command == "score" else []
    for safe in (False, True):
        run(command, fitted, *given, "--out", out, *(["--spreadsheet-safe"] if safe else []))
        with out.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file, delimiter="," if ending == "csv" else "\t"))[1:]
        texts = {cell for row in rows for cell in row[: 1 if command == "embed" else 2]}
        numbers = {cell for row in rows for cell in row[1 if command == "embed" else 2 :]}
        assert bool({cell[0] for cell in texts} & set("=+-@\t\r")) is not safe
        assert not safe or any(cell == f"'{FORMULAS[0]}" for cell in texts)
        assert all(float(cell) is not None for cell in numbers), "numbers stay numbers"


def test_no_id_leads_out_of_the_run_folder(fitted: Path, home: Path) -> None:
    assert {path.name for path in home.iterdir()} == {
        *("edges.csv", "nodes.csv", f"{LOUD}.csv", fitted.name)
    }
    inside = {path.relative_to(fitted).as_posix() for path in fitted.rglob("*")}
    assert not any("evil" in name or ".." in name for name in inside)
    assert all(path.resolve().is_relative_to(fitted) for path in fitted.rglob("*"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_names_that_are_not_utf8(home: Path, warm: Warm, tmp_path: Path) -> None:
    bad = os.fsdecode(b"caf\xe9")
    edges, table, store = (tmp_path / f"{bad}{end}" for end in (".csv", ".parquet", ""))
    edges.write_bytes((home / "edges.csv").read_bytes())
    with table.open("wb") as file:
        pq.write_table(pa.table({"source": ["a", "b", "c"], "target": ["b", "c", "d"]}), file)
    assert not warm("ingest", edges, "--out", store).code
    assert not warm("ingest", edges, "--out", store, "--force").code
    for number, source in enumerate((edges, table, store)):
        words = ("fit", source, "--quick", "--threads", 1)
        refused = warm(*words, "--out", f"{store}-run")
        assert refused.code == 2 and not refused.wrong and "UTF-8" in refused.errors
        assert not Path(f"{store}-run").exists()
        if source != table:  # whose edges are too few
            assert not warm(*words, "--out", tmp_path / str(number)).code
    for ending in (".parquet", ".csv", ".npz"):
        assert not warm("links", tmp_path / "0", "--out", f"{store}{ending}").code
