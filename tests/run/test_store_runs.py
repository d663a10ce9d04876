"""A fit on a store is the fit on the files it was made from, and needs the store again."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from maskgae.base.errors import InputError
from maskgae.base.tensors import read_tensors
from maskgae.cli import app
from maskgae.datasets.generated import generate
from maskgae.nn import layerwise
from maskgae.nn import network as model
from maskgae.run import Run

FAST = ["--set", "training.epochs=4", "--set", "training.eval_every=2", "--quiet"]
COLUMNS = 6


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Edges and a table of a small graph, and a store of the same."""
    folder = tmp_path_factory.mktemp("store")
    graph = generate(120, 500, num_features=COLUMNS, communities=3)
    assert graph.features is not None and graph.labels is not None
    ids = [f"n{i}" for i in range(120)]
    lines = [f"{ids[u]},{ids[v]}" for u, v in graph.pairs.T.tolist()]
    (folder / "edges.csv").write_text("source,target\n" + "\n".join(lines))
    rows = [
        ",".join([ids[i], f"c{label}", *map(str, row)])
        for i, (label, row) in enumerate(
            zip(graph.labels.tolist(), graph.features.dense().tolist(), strict=True)
        )
    ]
    head = "id,kind," + ",".join(f"x{i}" for i in range(COLUMNS))
    (folder / "nodes.csv").write_text(head + "\n" + "\n".join(rows))
    run("ingest", folder / "edges.csv", *table(folder), "--out", folder / "store", "--verify")
    return folder


def table(folder: Path) -> list[str]:
    return ["--nodes", str(folder / "nodes.csv"), "--label", "kind"]


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def weights(folder: Path) -> Iterator[bytes]:
    for value in read_tensors(folder / "model.safetensors")[0].values():
        yield value.numpy().tobytes()


def numbers(folder: Path) -> str:
    record = json.loads((folder / "metrics.json").read_text())
    return json.dumps([record["metrics"], record["sanity"], record["audit"], record["settings"]])


@pytest.mark.parametrize(
    "more",
    [[], ["--set", "mask.kind=path", "--set", "mask.bias_q=0.5"], ["--set", "encoder.kind=gat"]],
)
def test_a_store_and_its_files_give_the_same_run(
    files: Path, tmp_path: Path, more: list[str]
) -> None:
    run("fit", files / "edges.csv", *table(files), "--out", tmp_path / "a", *FAST, *more)
    run("fit", files / "store", "--out", tmp_path / "b", *FAST, *more)
    assert list(weights(tmp_path / "a")) == list(weights(tmp_path / "b"))
    assert numbers(tmp_path / "a") == numbers(tmp_path / "b")
    ours, expected = (pq.read_table(tmp_path / name / "embeddings.parquet") for name in "ba")
    assert ours.equals(expected)
    assert {path.name for path in (tmp_path / "b" / "graph").iterdir()} == {
        *("manifest.json", "val.npy", "test.npy", "val_negatives.npy", "test_negatives.npy"),
    }
    for name in "ab":
        run("embed", tmp_path / name, "--out", tmp_path / f"{name}.npy")
        run("links", tmp_path / name, "--out", tmp_path / f"{name}.csv", "--top", 2)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_features_from_structure_stay_with_the_run(files: Path, tmp_path: Path) -> None:
    run("ingest", files / "edges.csv", "--out", tmp_path / "bare", "--quiet")
    run("fit", files / "edges.csv", "--out", tmp_path / "a", *FAST)
    run("fit", tmp_path / "bare", "--out", tmp_path / "b", *FAST)
    assert list(weights(tmp_path / "a")) == list(weights(tmp_path / "b"))
    run("embed", tmp_path / "b", "--out", tmp_path / "z.npy")
    assert np.load(tmp_path / "z.npy").shape[0] == 119  # one node has no edge


def test_a_run_names_the_store_that_is_gone_or_changed(files: Path, tmp_path: Path) -> None:
    shutil.copytree(files / "store", tmp_path / "store")
    run("fit", tmp_path / "store", "--out", tmp_path / "run", *FAST)
    (tmp_path / "store").rename(tmp_path / "moved")
    with pytest.raises(InputError, match=r"run was fitted on the store .*store, which is gone"):
        Run.load(tmp_path / "run")
    run("ingest", files / "edges.csv", "--out", tmp_path / "store", "--quiet")
    with pytest.raises(InputError, match=r"store, which has changed since"):
        Run.load(tmp_path / "run")


def test_another_store_is_embedded_if_it_is_encoded_alike(files: Path, tmp_path: Path) -> None:
    run("fit", files / "store", "--out", tmp_path / "run", *FAST)
    lines = (files / "nodes.csv").read_text().splitlines()
    (tmp_path / "nodes.csv").write_text("\n".join([*lines, "new,c0" + ",0.5" * COLUMNS]))
    nodes = ["--nodes", tmp_path / "nodes.csv", "--label", "kind", "--quiet"]
    run("ingest", files / "edges.csv", *nodes, "--out", tmp_path / "other")
    with pytest.raises(InputError, match="ingest it with --like RUN"):
        run("embed", tmp_path / "run", "--edges", tmp_path / "other", "--out", tmp_path / "z.npy")
    like = ["--like", tmp_path / "run"]
    run("ingest", files / "edges.csv", *nodes, *like, "--out", tmp_path / "alike")
    run("embed", tmp_path / "run", "--edges", tmp_path / "alike", "--out", tmp_path / "z.npy")
    assert np.load(tmp_path / "z.npy").shape[0] == 121


def test_a_store_brings_its_own_table(files: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a store"):
        run("fit", files / "store", *table(files), "--out", tmp_path / "run", *FAST)
    with pytest.raises(InputError, match="not a finished store"):
        run("fit", files, "--out", tmp_path / "run", *FAST)


def test_a_large_graph_goes_all_the_way(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("fit", files / "store", "--out", tmp_path / "whole", *FAST)
    monkeypatch.setattr(model, "AT_ONCE", 0)
    monkeypatch.setattr(layerwise, "SWEEP_NUMBERS", 2000)
    monkeypatch.setattr(layerwise, "IN_MEMORY", 100)
    monkeypatch.setattr("maskgae.run.labels.JUDGED_NODES", 90)
    monkeypatch.setattr("maskgae.run.page.SHOWN_NODES", 50)
    monkeypatch.setattr("maskgae.run.files.WRITTEN_NUMBERS", 1000)
    run("fit", files / "store", "--out", tmp_path / "parts", *FAST)
    ours, expected = (
        pq.read_table(tmp_path / name / "embeddings.parquet") for name in ("parts", "whole")
    )
    assert ours.schema.equals(expected.schema)
    assert ours["id"].equals(expected["id"])
    assert np.allclose(ours["z0"].to_numpy(), expected["z0"].to_numpy(), atol=1e-4)
    page = (tmp_path / "parts" / "report.html").read_text()
    assert "a sample of 50 nodes" in page
    record = json.loads((tmp_path / "parts" / "metrics.json").read_text())
    assert {"auc", "accuracy"} <= record["metrics"].keys()


@pytest.mark.parametrize("given", ["nodes=3", "nodes=9,pairs=2,size=1", "nodes=x,pairs=2"])
def test_bad_requests_for_a_graph_are_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(InputError, match="--generate"):
        run("ingest", "--generate", given, "--out", tmp_path / "store")


def test_a_generated_store_from_the_command_line(tmp_path: Path) -> None:
    given = "nodes=1e2,pairs=200,features=5"
    assert "pairs=200" in run("ingest", "--generate", given, "--out", tmp_path / "store")
    with pytest.raises(InputError, match="one of the two"):
        run("ingest", "--out", tmp_path / "other")
