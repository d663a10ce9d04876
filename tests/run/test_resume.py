"""``fit`` on the command line: stopped, resumed, refused, and complete."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from maskgae.base.errors import InputError, RunError
from maskgae.base.files import write_text
from maskgae.base.lock import locked
from maskgae.base.replace import NEW
from maskgae.base.tensors import read_tensors
from maskgae.cli import app
from maskgae.cli.signals import Signals
from maskgae.datasets.generated import generate
from maskgae.run import Run

QUICK = ("--set", "training.epochs=6", "--set", "training.eval_every=2", "--threads", "1")


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "edges.csv"
    graph = generate(80, 300, num_features=4, communities=3, seed=3)
    path.write_text("\n".join(f"a{u},a{v}" for u, v in graph.pairs.T.tolist()))
    return path


@pytest.fixture(scope="module")
def whole(edges: Path) -> Path:
    """A run that was never stopped."""
    out = edges.parent / "whole"
    assert fit(edges, out).exit_code == 0
    return out


def fit(edges: Path, out: Path, *more: str | Path) -> Result:
    arguments = ["fit", edges, "--out", out, *QUICK, *more]
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def signals_at(monkeypatch: pytest.MonkeyPatch, question: int, *numbers: int) -> None:
    """Sends signals to this process when the training asks for the given time."""

    class Sent(Signals):
        asked = 0

        def asked_to_stop(self) -> bool:
            self.asked += 1
            if self.asked == question:
                for number in numbers:
                    signal.raise_signal(number)
            return super().asked_to_stop()

    monkeypatch.setattr("maskgae.cli.progress.Signals", Sent)


def same_results(one: Path, other: Path) -> bool:
    names = (
        "model.safetensors",
        "embeddings.parquet",
        "graph/manifest.json",
        "graph/pairs.npy",
        "graph/test.npy",
        "config.toml",
    )
    metrics = (json.loads((run / "metrics.json").read_text())["metrics"] for run in (one, other))
    return len({str(m) for m in metrics}) == 1 and all(
        (one / name).read_bytes() == (other / name).read_bytes() for name in names
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_says_how_to_go_on(
    edges: Path,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    code: int,
) -> None:
    out, before = tmp_path / "a run", signal.getsignal(number)
    monkeypatch.setattr(sys, "argv", ["maskgae", "fit", "e.csv", "--out", str(out), "--force"])
    with monkeypatch.context() as patch:
        signals_at(patch, 3, number)
        stopped = fit(edges, out)
    assert stopped.exit_code == code and signal.getsignal(number) == before
    assert "stopped in epoch 2 and saved to" in stopped.output
    assert f"maskgae fit e.csv --out '{out}' --resume\n" in stopped.output
    assert {path.name for path in out.iterdir()} == {"checkpoints"}
    with pytest.raises(InputError, match=r"--resume to go on"):
        fit(edges, out)
    resumed = fit(edges, out, "--resume")
    assert resumed.exit_code == 0 and "going on from" in resumed.output
    assert same_results(out, whole)
    assert not (out / "checkpoints").exists() and not (out / ".lock").exists()


def test_a_second_sigint_stops_at_once(
    edges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals_at(monkeypatch, 2, signal.SIGINT, signal.SIGINT)
    assert fit(edges, tmp_path / "run").exit_code == 130
    assert not (tmp_path / "run" / ".lock").exists()


def test_a_complete_run_is_left_alone(edges: Path, whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()}
    result = fit(edges, whole, "--resume")
    assert result.exit_code == 0 and "nothing to do" in result.output
    assert before == {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()}


@pytest.mark.parametrize("lost", [("report.html",), ("nodes.parquet", "report.html")])
def test_a_run_gets_what_follows_its_weights(
    edges: Path, whole: Path, tmp_path: Path, lost: tuple[str, ...]
) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    for name in lost:
        (out / name).unlink()
    (out / "checkpoints").mkdir()
    fit(edges, out, "--resume")
    assert not (out / "checkpoints").exists()
    assert all((out / name).read_bytes() == (whole / name).read_bytes() for name in lost)


def test_nothing_to_resume_starts_afresh(edges: Path, whole: Path, tmp_path: Path) -> None:
    result = fit(edges, tmp_path / "run", "--resume")
    assert "starting afresh" in result.output and same_results(tmp_path / "run", whole)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"not empty, there is thesis\.txt"):
        fit(edges, tmp_path / "other", "--resume")


def test_what_differs_is_named(
    edges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, fewer = tmp_path / "run", tmp_path / "fewer.csv"
    with monkeypatch.context() as patch:
        signals_at(patch, 3, signal.SIGINT)
        fit(edges, out)
    fewer.write_text("\n".join(edges.read_text().splitlines()[1:]))
    with pytest.raises(InputError, match=r"mask.p was 0.3 and is 0.4; resume with the same"):
        fit(edges, out, "--resume", "--set", "mask.p=0.4")
    with pytest.raises(InputError, match="the training edges differ"):
        fit(fewer, out, "--resume")
    with pytest.raises(InputError, match="choose one"):
        fit(edges, out, "--resume", "--force")
    with locked(out), pytest.raises(RunError, match="in use by another run"):
        fit(edges, out, "--resume")
    assert fit(edges, out, "--resume", "--checkpoint-every", "1").exit_code == 0


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_a_forced_run_stays_beside_the_old_one_and_leaves_nothing_of_it(
    edges: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    fit(edges, out, "--seed", "1")
    write_text(out / "graph" / "labels.npy", "of an older run")
    old = files(out)
    with monkeypatch.context() as patch:
        signals_at(patch, 3, signal.SIGTERM)
        assert fit(edges, out, "--force").exit_code == 143
    assert {path.name for path in (out / NEW).iterdir()} == {"checkpoints"}
    assert {name: data for name, data in files(out).items() if not name.startswith(NEW)} == old
    assert Run.load(out).net.settings.seed == 1
    resumed = fit(edges, out, "--resume")
    assert resumed.exit_code == 0 and "going on from" in resumed.output
    assert same_results(out, whole) and files(out).keys() == files(whole).keys()
    assert {path.name for path in out.iterdir()} == {path.name for path in whole.iterdir()}


@pytest.mark.parametrize("complete", [True, False])
def test_ranks_that_are_started_again_go_on_with_what_was_asked_for(
    edges: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complete: bool
) -> None:
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        if not complete:
            signals_at(patch, 3, signal.SIGTERM)
        fit(edges, out, *(["--seed", "1"] if complete else []))
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    again = fit(edges, out, "--force")
    assert ("going on from" in again.output) != complete
    assert same_results(out, whole)


@pytest.mark.parametrize("wrong", ["malformed", "few", "weights", "missing"])
@pytest.mark.parametrize("complete", [True, False])
def test_bad_input_replaces_nothing(
    edges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, complete: bool
) -> None:
    out, bad, more = tmp_path / "run", tmp_path / "bad.csv", []
    with monkeypatch.context() as patch:
        if not complete:
            signals_at(patch, 3, signal.SIGINT)
        fit(edges, out)
    if wrong == "weights":
        fit(edges, tmp_path / "other", "--set", "encoder.dim=16")
        bad, more = edges, ["--from", tmp_path / "other", "--set", "encoder.dim=8"]
    elif wrong != "missing":
        bad.write_text("a,b\nc\n" if wrong == "malformed" else "a,b\n")
    old = files(out)
    with pytest.raises(InputError):
        fit(bad, out, "--force", *more)
    assert files(out) == old and not (out / NEW).exists()


def test_a_stopped_run_is_replaced_once_the_new_one_begins(
    edges: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        signals_at(patch, 3, signal.SIGINT)
        fit(edges, out, "--seed", "1")
    assert fit(edges, out, "--force").exit_code == 0
    assert same_results(out, whole) and files(out).keys() == files(whole).keys()


@pytest.mark.parametrize("name", ["report.html", "config.toml", "graph/thesis.txt"])
@pytest.mark.parametrize("how", ["--force", "--resume"])
def test_what_only_has_the_name_of_a_result_is_left_alone(
    edges: Path, tmp_path: Path, name: str, how: str
) -> None:
    path = tmp_path / "mine" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(InputError, match=name):
        fit(edges, tmp_path / "mine", how)
    assert files(tmp_path / "mine") == {name: b"mine"}


def test_a_complete_run_with_other_settings_is_not_what_was_asked_for(
    edges: Path, whole: Path
) -> None:
    assert fit(edges, whole, "--resume", "--checkpoint-every", "1").exit_code == 0
    for words in (("--set", "mask.p=0.5"), ("--mask", "path"), ("--seed", "3")):
        with pytest.raises(InputError, match=r"is complete with .*--force to replace"):
            fit(edges, whole, "--resume", *words)


def test_only_a_run_is_replaced(edges: Path, tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    write_text(tmp_path / "graph" / "thesis.txt", "years of work")
    write_text(tmp_path / "main.py", "")
    with pytest.raises(InputError, match=r"no run folder, there is main\.py"):
        fit(edges, tmp_path, "--force")
    assert (tmp_path / "graph" / "thesis.txt").exists()


def test_a_diverged_run_leaves_weights_to_start_from(edges: Path, tmp_path: Path) -> None:
    out, wild = tmp_path / "run", ("--set", "training.lr=1e30", "--set", "encoder.norm=none")
    with pytest.raises(RunError, match=r"gradient norm .*rate 1e\+30.*epoch-000001.*--from"):
        fit(edges, out, *wild)
    (path,) = (out / "checkpoints").iterdir()
    weights = {name for name in read_tensors(path)[0] if name.startswith("net.")}
    assert weights
    calm = ("--set", "encoder.norm=none", "--from", out)
    with pytest.raises(RunError, match="diverged in epoch 0"):  # they were found and taken
        fit(edges, tmp_path / "again", *calm)


@pytest.mark.parametrize("every", ["often", "-1", "1.5", "60 s"])
def test_an_interval_that_is_none(edges: Path, tmp_path: Path, every: str) -> None:
    with pytest.raises(InputError, match=r"checkpoint_every = .* cannot be read: time"):
        fit(edges, tmp_path / "run", "--checkpoint-every", every)
    assert not (tmp_path / "run").exists()
