"""A run folder may come from a stranger: lies in any of its files are refused in bounds."""

import json
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.harness.bounded import Child
from tests.hostile.test_files import Evil

from maskgae.base.settings import Settings
from maskgae.datasets.generated import generate
from maskgae.run import fit

SECONDS, MEGABYTES = 10, 400


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder as it should be, with sparse features."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    graph = generate(60, 200, num_features=40, communities=2, seed=0)
    settings = Settings().updated({"training.epochs": 1, "encoder.hidden": 8, "encoder.dim": 8})
    fit(graph, settings).save(folder)
    return folder


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def refused(reader: Child, run: Path, name: str = "") -> None:
    outcome = reader.read("run", run)
    assert outcome.kind == "refused", outcome.text
    assert Path(name).name in outcome.text, "the file at fault is named"
    assert outcome.seconds < SECONDS and outcome.megabytes < MEGABYTES


def test_a_whole_one_is_read(reader: Child, run: Path) -> None:
    outcome = reader.read("run", run)
    assert outcome.kind == "done", outcome.text


def safetensors(header: Any, body: bytes = bytes(64), length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def tensor(begin: int, end: int, shape: list[int] | None = None) -> dict[str, Any]:
    shape = [(end - begin) // 4] if shape is None else shape
    return {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    "content",
    [
        safetensors({"a": tensor(0, 32), "b": tensor(16, 64)}),  # overlapping
        safetensors({"a": tensor(0, 10**15)}),  # out of range
        safetensors({"a": tensor(64, 0, [16])}),  # backwards
        safetensors({"a": tensor(0, 64, [2**62, 2**62])}),  # a shape that overflows
        safetensors({"a": tensor(0, 64, [3])}),  # another shape than its bytes
        safetensors(b"{}", length=2**63),  # a header without end
        safetensors(b"{}", length=200_000_000),
        safetensors(b"[" * 1_000_000),
        safetensors(b'{"a":' * 100_000),
        safetensors({"__metadata__": {"maskgae": "[" * 100_000}, "a": tensor(0, 64)}),
        safetensors({"__metadata__": {"maskgae": "[]"}, "a": tensor(0, 64)}),
        b"\x80\x04\x95",
        b"",
    ],
)
def test_weights(reader: Child, run: Path, content: bytes) -> None:
    (run / "model.safetensors").write_bytes(content)
    refused(reader, run, "model.safetensors")


@pytest.mark.parametrize(
    "line", ["layers = 1000000000", "hidden = 1000000000", "dim = 3", 'kind = "gat"', "a = 1"]
)
def test_settings(reader: Child, run: Path, line: str) -> None:
    path = run / "config.toml"
    key = line.partition(" ")[0]
    lines = path.read_text().splitlines()
    places = [i for i, old in enumerate(lines) if old.startswith(f"{key} = ")]
    lines[places[0] if places else 0] = line
    path.write_text("\n".join(lines))
    refused(reader, run)


def change(run: Path, name: str, array: Any) -> None:
    """Puts another array in the place of one, and makes the manifest fit its size."""
    path, manifest = run / "graph" / f"{name}.npy", run / "graph" / "manifest.json"
    np.save(path, array)
    document = json.loads(manifest.read_text())
    document["files"].setdefault(path.name, {"sha256": ""})["bytes"] = path.stat().st_size
    manifest.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("pairs", np.full((2, 200), 60, dtype=np.int32)),
        ("test", np.array([[0], [10**9]])),
        ("val", np.array([0, 1])),
        ("val_negatives", np.array([["a"], ["b"]])),
        ("labels", np.zeros(3, dtype=np.int32)),
        ("features", np.ones((3, 40), dtype=np.float32)),
        ("structural_basis", np.ones((60, 2), dtype=np.float32)),
    ],
)
def test_graph(reader: Child, run: Path, name: str, array: Any) -> None:
    change(run, name, array)
    refused(reader, run)


def test_arrays_that_lie(reader: Child, run: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    change(run, "test", np.array([Evil(mark)], dtype=object))
    refused(reader, run, "test.npy")
    assert not mark.exists()


def test_a_run_of_the_old_form_is_refused_with_how_to_convert_it(reader: Child, run: Path) -> None:
    (run / "graph" / "about.json").write_text("{}")
    outcome = reader.read("run", run)
    assert outcome.kind == "refused" and "maskgae fit EDGES --config" in outcome.text


def test_special_files_are_not_waited_for(reader: Child, run: Path) -> None:
    for name in ("metrics.json", "history.csv", "graph/manifest.json", "config.toml"):
        kept = (run / name).read_bytes()
        (run / name).unlink()
        os.mkfifo(run / name)
        refused(reader, run, name)
        (run / name).unlink()
        (run / name).write_bytes(kept)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("graph/manifest.json", "[" * 100_000),
        ("graph/manifest.json", "[]"),
        ("metrics.json", "{}"),
        ("metrics.json", "[]"),
        ("history.csv", "epoch,loss\n1,a lot\n"),
        ("history.csv", 'epoch,loss\n1,"0.5\n'),
        ("features.json", "{}"),
        ("metrics.json", "{" * 100_000),
        ("metrics.json", '{"a": ' * 100_000),
        ("metrics.json", "1" * 100_000),
        ("features.json", "[" * 100_000),
    ],
)
def test_documents(reader: Child, run: Path, name: str, text: str) -> None:
    (run / name).write_text(text)
    refused(reader, run, name)


@pytest.mark.parametrize("name", ["graph/manifest.json", "metrics.json", "history.csv"])
def test_documents_without_end(reader: Child, run: Path, name: str) -> None:
    os.truncate(run / name, 1 << 40)  # of which the disk has nothing
    refused(reader, run, name)


def test_ids(reader: Child, run: Path) -> None:
    path = run / "graph" / "ids.parquet"
    pq.write_table(pa.table({"id": ["a"]}), path)
    refused(reader, run)
    path.write_bytes(path.read_bytes()[:-9])
    refused(reader, run, "ids.parquet")
