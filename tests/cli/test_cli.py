"""The command line as a stranger meets it: one-line errors, exit codes, JSON that parses."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from rich.console import Console
from rich.text import Text
from tests.harness.calls import Warm
from typer.testing import CliRunner

from maskgae.base.errors import InputError
from maskgae.base.settings import KEYS
from maskgae.cli import app, main, screen


def maskgae(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "maskgae", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


VERBS = ("evaluate", "demo", "datasets", "presets")


def test_help_names_every_verb() -> None:
    result = maskgae("--help")
    assert result.returncode == 0
    assert all(verb in result.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str) -> None:
    result = CliRunner().invoke(app, [verb, "--help"])
    assert result.exit_code == 0 and "Usage" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("evaluate", "link", "--dataset", "Coraa"), ("Coraa", "did you mean 'Cora'")),
        (("evaluate", "lnk"), ("lnk", "did you mean 'link'")),
        (("fitt",), ("no command 'fitt'", "did you mean 'fit'")),
        (("evaluate", "link", "--set", "mask.p=1.5"), ("(0, 1)", "1.5", "mask.kind=none")),
        (("evaluate", "link", "--set", "mask.q=0"), ("mask.q", "(0, 1)")),
        (("evaluate", "link", "--set", "mask.pp=0.5"), ("mask.pp", "did you mean 'mask.p'")),
        (("evaluate", "link", "--set", "encoder.kind=gcnn"), ("gcnn", "did you mean 'gcn'")),
        (("evaluate", "link", "--set", "mask.p"), ("key=value",)),
        (("evaluate", "link", "--mask", "edgy"), ("edgy", "did you mean 'edge'")),
        (("evaluate", "link", "--preset", "link-cora-edg"), ("did you mean 'link-cora-edge'",)),
        (("evaluate", "link", "--config", "absent.toml"), ("absent.toml",)),
        (("evaluate", "link", "--device", "cuda:99"), ("cuda:99", "--device cpu")),
        (("evaluate", "link", "--json", "no/such/folder/r.json"), ("no/such/folder",)),
        (("presets", "nothing-like-it"), ("nothing-like-it",)),
        (("fit", "a.csv", "--out", "run", "--epochs", "5"), ("--epochs", "--set training.epochs=")),
        (("fit", "a.csv", "--out", "run", "--mask.p", "1"), ("--mask.p", "--set mask.p=")),
        (("evaluate", "link", "--lr", "1"), ("--set training.lr=",)),
        (("links", "run", "--between", "a"), ("--between", "2 arguments", "maskgae links --help")),
        (("fit", "a.csv", "--out"), ("--out", "maskgae fit --help")),
        (("links", "run", "--in=yes"), ("--in", "does not take a value")),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    arguments: tuple[str, ...],
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["maskgae", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capfd.readouterr().err
    assert ended.value.code == 2
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) == 1
    assert all(word in said for word in words), said
    assert list(tmp_path.iterdir()) == []


def test_a_process_ends_with_the_line_and_the_code() -> None:
    result = maskgae("evaluate", "lnk")
    assert result.returncode == 2
    assert len(result.stderr.strip().splitlines()) == 1 and "Traceback" not in result.stderr


def test_evaluate_writes_the_record(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    result = maskgae(
        *("evaluate", "link", "--seeds", "2", "--first-seed", "3", "--json", str(file)),
        *("--set", "training.epochs=3", "--set", "encoder.hidden=8", "--threads", "1"),
    )
    assert result.returncode == 0, result.stderr
    record = json.loads(file.read_text())
    assert record["seeds"] == [3, 4]
    assert record["settings"]["training.epochs"] == 3
    assert len(record["metrics"]["auc"]["values"]) == 2
    assert record["audit"]["held_out_leaks"] == 0
    assert record["audit"]["visible_targets"] == 0
    assert {"rank_mrr", "rank_hits@10"} <= set(record["sanity"]["smoothed_cosine"])
    assert set(record["sanity"]) >= {
        "common_neighbours",
        "adamic_adar",
        "resource_allocation",
        "degree_product",
        "feature_cosine",
        "untrained",
    }
    assert "MaskGAE" in result.stdout and "Adamic-Adar" in result.stdout


def test_help_lists_every_command_in_its_order():
    from maskgae.cli.app import VERBS, app

    group = typer.main.get_group(app)
    assert group.list_commands(typer.Context(group)) == list(VERBS)


@pytest.mark.parametrize("verb", ["", "fit", "links", "evaluate"])
def test_help_fits_a_narrow_terminal(verb: str) -> None:
    """80 columns, and a third of them at least for what an option does."""
    text = CliRunner().invoke(app, [*verb.split(), "--help"], terminal_width=80).output
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if re.match(r"│ {50,}\S", line)] == []


@pytest.mark.parametrize(
    ("terminal", "lines"), [(True, ["  one two", "  three"]), (False, ["  one two three"])]
)
def test_a_terminal_breaks_sentences_between_words(terminal: bool, lines: list[str]) -> None:
    console = Console(file=io.StringIO(), width=10, force_terminal=terminal)
    screen.sentence("one two three", console, indent=2)
    written = Text.from_ansi(console.file.getvalue()).plain
    assert [line.rstrip() for line in written.splitlines()] == lines


def test_options_of_a_kind_stand_together() -> None:
    text = CliRunner().invoke(app, ["fit", "--help"]).output
    assert text.index("The graph") < text.index("--nodes") < text.index("Training")
    assert text.index("Training") < text.index("--quick")


def test_settings_are_listed_with_what_they_may_be() -> None:
    text = CliRunner().invoke(app, ["settings"]).output
    assert all(key in text for key in KEYS)
    concern = CliRunner().invoke(app, ["settings", "mask"]).output
    assert "mask.q" in concern and "encoder.dim" not in concern
    with pytest.raises(InputError, match=r"did you mean 'mask\.p'"):
        CliRunner().invoke(app, ["settings", "mask.pp"], catch_exceptions=False)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("WORLD_SIZE", "many"),
        ("TORCHELASTIC_RESTART_COUNT", "²"),
        *(("RANK", value) for value in ("x", "", "2", "-1")),
        *(("MASTER_PORT", value) for value in ("x", "", "65536")),
        ("MASTER_ADDR", ""),
    ],
)
def test_odd_variables_of_the_environment_are_named(
    variable: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    usual = {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
    for name, said in usual.items():
        monkeypatch.setenv(name, said)
    monkeypatch.setenv(variable, value)
    words = ["fit", str(tmp_path / "edges.csv"), "--out", str(tmp_path / "run"), "--threads", "1"]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, InputError) and variable in str(result.exception)


def test_more_threads_than_any_machine_has_are_refused() -> None:
    assert CliRunner().invoke(app, ["report", "run", "--threads", "100000000"]).exit_code == 2


def test_a_terminal_that_knows_ascii_alone_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = maskgae("datasets")
    assert result.returncode == 0 and "Cora" in result.stdout


def test_a_terminal_without_a_width_is_written_to(warm: Warm) -> None:
    refused = warm("report", "run", "--threads", "-1", environment={"COLUMNS": "0"})
    assert refused.code == 2 and "--threads" in refused.errors
    assert "Cora" in warm("datasets", environment={"COLUMNS": "0"}).output
