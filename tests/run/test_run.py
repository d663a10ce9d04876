"""One run behind both doors: kept, loaded, resumed, asked, from Python and the command line."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

import maskgae
from maskgae import Callback, InputError, Run
from maskgae.base.errors import StoppedError
from maskgae.base.rng import Stream
from maskgae.cli import app, screen
from maskgae.data.splits import split_links
from maskgae.datasets.generated import generate

SETTINGS: dict[str, Any] = {"training.epochs": 6, "training.eval_every": 2, "seed": 3}
WORDS = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with edges, a table of nodes, and a run on them from the command line."""
    folder = tmp_path_factory.mktemp("graph")
    made = generate(90, 350, num_features=4, communities=3, seed=3)
    assert made.features is not None and made.labels is not None
    lines = [f"a{u},a{v}" for u, v in made.pairs.T.tolist()]
    (folder / "edges.csv").write_text("source,target\n" + "\n".join(lines) + "\n")
    table = zip(made.features.dense().tolist(), made.labels.tolist(), strict=True)
    rows = [f"a{i}," + ",".join(map(str, row)) + f",c{c}" for i, (row, c) in enumerate(table)]
    (folder / "nodes.csv").write_text("id,w,x,y,z,class\n" + "\n".join(rows) + "\n")
    assert command("fit", folder / "edges.csv", *table_of(folder), "--out", folder / "run", *WORDS)
    return folder


def table_of(folder: Path) -> list[str]:
    return ["--nodes", str(folder / "nodes.csv"), "--label", "class"]


def source(folder: Path) -> maskgae.Source:
    return maskgae.read(folder / "edges.csv", folder / "nodes.csv", "class")


def command(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def same_bits(one: Path, other: Path) -> bool:
    """Whether two runs differ in nothing but in what time and memory they took."""
    apart = ("metrics.json", "history.csv", "report.html")
    first, second = (
        {name: data for name, data in files(run).items() if name not in apart}
        for run in (one, other)
    )
    records = [json.loads((run / "metrics.json").read_text()) for run in (one, other)]
    keys = ("metrics", "sanity", "audit", "settings", "protocol")
    return first == second and all(records[0][key] == records[1][key] for key in keys)


def test_a_loaded_run_is_saved_to_the_same_bytes(graph: Path, tmp_path: Path) -> None:
    Run.load(graph / "run").save(tmp_path / "b")
    assert files(tmp_path / "b") == files(graph / "run")


def test_every_verb_works_on_the_copy(graph: Path, tmp_path: Path) -> None:
    out, made = tmp_path / "b", {}
    Run.load(graph / "run").save(out)
    grown = tmp_path / "grown"
    grown.mkdir()
    (grown / "edges.csv").write_text((graph / "edges.csv").read_text() + "new,a1\n")
    (grown / "nodes.csv").write_text((graph / "nodes.csv").read_text() + "new,0,0,0,0,c1\n")
    for name, run in (("old", graph / "run"), ("copy", out)):
        to = tmp_path / name
        to.mkdir()
        command("embed", run, "--out", to / "z.npy")
        more = ("--edges", grown / "edges.csv", "--nodes", grown / "nodes.csv")
        command("embed", run, *more, "--out", to / "grown.npy")
        command("links", run, "--top", "2", "--node", "a5", "--out", to / "links.csv")
        command("score", run, graph / "edges.csv", "--out", to / "scores.csv")
        command("report", run)
        made[name] = files(to)
    assert made["old"] == made["copy"]
    assert np.load(tmp_path / "copy" / "grown.npy").shape[0] == 91
    assert "nothing to do" in command(
        "fit", graph / "edges.csv", *table_of(graph), "--out", out, *WORDS, "--resume"
    )


def test_both_doors_lead_to_the_same_bits(graph: Path, tmp_path: Path) -> None:
    kept = maskgae.fit(source(graph), SETTINGS, folder=tmp_path / "kept")
    assert same_bits(tmp_path / "kept", graph / "run") and kept.folder == tmp_path / "kept"
    maskgae.fit(source(graph), SETTINGS).save(tmp_path / "saved")
    assert same_bits(tmp_path / "saved", graph / "run")


class Stopping(Callback):
    """Stops when it is asked for the given time."""

    def __init__(self, question: int) -> None:
        self.left, self.notices = question, list[str]()

    def wants_stop(self) -> bool:
        self.left -= 1
        return self.left == 0

    def on_notice(self, text: str) -> None:
        self.notices.append(text)


def test_a_stopped_fit_goes_on_to_the_same_bits(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(StoppedError, match="stopped in epoch 2 and saved"):
        maskgae.fit(source(graph), SETTINGS, folder=out, callbacks=[Stopping(3)])
    assert {path.name for path in out.iterdir()} == {"checkpoints"}
    with pytest.raises(InputError, match="not empty"):
        maskgae.fit(source(graph), SETTINGS, folder=out)
    heard = Stopping(0)
    maskgae.fit(source(graph), SETTINGS, folder=out, resume=True, callbacks=[heard])
    assert same_bits(out, graph / "run") and not (out / "checkpoints").exists()
    assert any("going on from" in text for text in heard.notices)


def test_checkpoints_are_left_on_the_way(graph: Path, tmp_path: Path) -> None:
    seen: set[str] = set()

    class Looking(Callback):
        def on_epoch(self, row: Any) -> None:
            seen.update(path.name for path in tmp_path.glob("run/checkpoints/*"))

    often = SETTINGS | {"training.checkpoint_every": "2"}
    maskgae.fit(source(graph), often, folder=tmp_path / "run", callbacks=[Looking()])
    assert len(seen) > 1 and same_results(tmp_path / "run", graph / "run")


def same_results(one: Path, other: Path) -> bool:
    names = ("model.safetensors", "embeddings.parquet")
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


@pytest.mark.parametrize("kept", [True, False])
def test_callbacks_hear_everything_in_order(graph: Path, tmp_path: Path, kept: bool) -> None:
    heard: list[str] = []

    class Order(Callback):
        def on_plan(self, source: Any, plan: Any) -> None:
            heard.append(f"plan of {source.graph.num_nodes}: {str(plan).partition(':')[0]}")

        def on_part(self, name: str) -> None:
            heard.append(name)

        def on_epoch(self, row: Any) -> None:
            heard.append(f"epoch {row['epoch']}")

        def on_end(self, run: Run) -> None:
            heard.append(f"end at {run.folder and run.folder.name}")

    folder = tmp_path / "run" if kept else None
    maskgae.fit(source(graph), SETTINGS, folder=folder, callbacks=[Order()])
    epochs = [f"epoch {i}" for i in range(6)]
    last = ["page", "end at run"] if kept else ["end at None"]
    expected = ["plan of 90: memory", "training", *epochs, "scoring", "embedding", *last]
    assert heard == expected


def test_the_memory_decides_in_python_too(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = maskgae.fit(source(graph), SETTINGS, batch_pairs=64, holdout=False)
    assert small.settings.training.batch_pairs == 64 and small.settings.training.fanouts
    monkeypatch.setenv("MASKGAE_MEMORY", "1MB")
    with pytest.raises(InputError, match="1 MiB are available"):
        maskgae.fit(source(graph), SETTINGS)


def test_a_run_on_a_store_is_the_run_on_its_files(graph: Path, tmp_path: Path) -> None:
    command("ingest", graph / "edges.csv", *table_of(graph), "--out", tmp_path / "store")
    maskgae.fit(tmp_path / "store", SETTINGS, folder=tmp_path / "run")
    assert same_results(tmp_path / "run", graph / "run")
    Run.load(tmp_path / "run").save(tmp_path / "copy")
    assert files(tmp_path / "copy") == files(tmp_path / "run")
    back = Run.load(tmp_path / "copy")
    assert np.array_equal(back.embed(tmp_path / "store").ids, back.ids)


def test_the_share_to_test_on() -> None:
    made = generate(60, 200, seed=1)
    settings = {**SETTINGS, "training.epochs": 1}
    shares = [maskgae.fit(made, settings, holdout=share) for share in (0.25, True, 0)]
    counts = [run.held_out["test"].shape[1] if run.held_out else 0 for run in shares]
    assert counts == [50, 20, 0]
    complete = shares[1].settings
    assert maskgae.fit(made, complete, holdout=0.25).settings == shares[0].settings


def test_a_grown_graph_is_embedded_by_names() -> None:
    pairs = [(f"n{u}", f"n{v}") for u, v in generate(80, 300, seed=1).pairs.T.tolist()]
    run = maskgae.fit(pairs, SETTINGS)
    ids, vectors = run.embed([*pairs, ("a new one", "n3")])
    assert set(ids) == {*run.ids, "a new one"} and vectors.shape == (ids.size, 256)
    with pytest.raises(InputError, match="must have the fitted nodes"):
        run.embed(pairs[:3])


Change = Callable[[Path], list[Any]]
CHANGES: dict[str, tuple[Change, str]] = {
    "dim": (lambda _: ["--dim", 10], r"embedding\.columns = 256, not 10"),
    "preset": (lambda _: ["--preset", "node-cora-edge"], r"is complete with .* = "),
    "holdout": (lambda _: ["--holdout", 0], "complete with some edges held out"),
    "share": (lambda _: ["--holdout", 0.2], r"split\.test = 0\.1, not 0\.2"),
    "batches": (lambda _: ["--batch-pairs", 64], r"training\.batch_pairs = 0, not 64"),
    "seed": (lambda _: ["--seed", 4], "seed = 3, not 4"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_complete_run_is_not_another_one(graph: Path, name: str) -> None:
    change, words = CHANGES[name]
    before = files(graph / "run")
    with pytest.raises(InputError, match=words):
        command(
            *("fit", graph / "edges.csv", *table_of(graph), "--out", graph / "run", *WORDS),
            *("--resume", *change(graph)),
        )
    assert files(graph / "run") == before


def test_nor_one_of_other_files(graph: Path, tmp_path: Path) -> None:
    lines = (graph / "edges.csv").read_text().splitlines()
    (tmp_path / "other.csv").write_text("\n".join(lines[:-1]))
    (tmp_path / "nodes.csv").write_text((graph / "nodes.csv").read_text().replace("c1", "c2"))
    again = ("--out", graph / "run", *WORDS, "--resume")
    with pytest.raises(InputError, match="is complete with other edges"):
        command("fit", tmp_path / "other.csv", *table_of(graph), *again)
    with pytest.raises(InputError, match=r"missing\.csv does not exist"):
        command("fit", tmp_path / "missing.csv", *table_of(graph), *again)
    with pytest.raises(
        InputError,
        match=r"encoder\.dropout = 0\.5, not 0\.2; encoder\.structure = 0, not 128; "
        r"scorer\.rules = all, not few; other features",
    ):
        command("fit", graph / "edges.csv", *again)
    with pytest.raises(InputError, match="is complete with other labels"):
        nodes = ("--nodes", tmp_path / "nodes.csv", "--label", "class")
        command("fit", graph / "edges.csv", *nodes, *again)


def test_a_closed_pipe_ends_no_fit(graph: Path, tmp_path: Path) -> None:
    """As behind ``maskgae fit ... | head -1``, with a reader that is gone after one line."""
    words = ["fit", graph / "edges.csv", *table_of(graph), "--out", tmp_path / "run", *WORDS]
    code = "from maskgae.cli import main; main()"
    fit = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words), "--threads", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": ""},
    )
    assert fit.stdout is not None and fit.stderr is not None
    first = fit.stdout.readline()
    fit.stdout.close()
    errors = fit.stderr.read().decode()
    fit.stderr.close()
    assert fit.wait() == 0 and b"nodes=90" in first, errors
    assert "Traceback" not in errors and "Broken" not in errors
    assert same_results(tmp_path / "run", graph / "run")
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize("quiet", [True, False])
def test_a_heartbeat_where_there_is_no_terminal(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: bool
) -> None:
    monkeypatch.setattr("maskgae.cli.progress.HEARTBEAT", -1.0)
    # Older releases of click mix both streams.
    errors = io.StringIO()
    monkeypatch.setattr(screen, "err", Console(file=errors))
    words = ["fit", graph / "edges.csv", "--out", tmp_path / "run", *WORDS]
    words += ["--quiet"] if quiet else []
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0
    assert ("epoch 6 of at most 6, loss" in errors.getvalue()) is not quiet
    shutil.rmtree(tmp_path / "run")


def test_a_given_split_is_taken_as_it_is(tmp_path: Path) -> None:
    whole = generate(90, 350, num_features=4, communities=3, seed=3)
    drawn = split_links(whole, 0.05, 0.1, Stream(SETTINGS["seed"]).at("split"))
    other = split_links(whole, 0.05, 0.1, Stream(7).at("split"))
    usual, given = (maskgae.fit(whole, SETTINGS, holdout=split) for split in (True, drawn))
    assert given.metrics == usual.metrics
    assert given.record["protocol"]["split"] == "given"
    kept = maskgae.fit(whole, SETTINGS, holdout=other, folder=tmp_path / "run")
    assert torch.equal(kept.held_out["test"], other.test)
    with pytest.raises(InputError, match="complete with another split"):
        maskgae.fit(whole, SETTINGS, holdout=drawn, folder=tmp_path / "run", resume=True)
