"""A store may come from a stranger too: what it maps is looked through before it is used."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.harness.bounded import Child
from tests.hostile.test_files import CASES, Evil, npy

from maskgae.datasets.generated import generate
from maskgae.store.ingest import ingest

SECONDS, MEGABYTES = 10, 400


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with sparse features, as it should be."""
    folder = tmp_path_factory.mktemp("whole")
    graph = generate(60, 200, seed=0)
    lines = [f"{u},{v}" for u, v in graph.pairs.T.tolist()]
    (folder / "edges.csv").write_text("source,target\n" + "\n".join(lines) + "\n")
    rows = [f"{i},word{i} and{i % 5}" for i in range(60)]
    (folder / "nodes.csv").write_text("id,text\n" + "\n".join(rows) + "\n")
    ingest(folder / "edges.csv", folder / "store", nodes=folder / "nodes.csv")
    assert (folder / "store" / "features_indices.npy").exists()
    return folder / "store"


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "store")
    return tmp_path / "store"


def refused(reader: Child, store: Path, name: str) -> None:
    """Refused with the file at fault named, after the manifest was made to fit the sizes."""
    manifest = json.loads((store / "manifest.json").read_text())
    if isinstance(manifest.get("files"), dict):
        for file, entry in manifest["files"].items():
            entry["bytes"] = (store / file).stat().st_size if (store / file).exists() else 0
        (store / "manifest.json").write_text(json.dumps(manifest))
    outcome = reader.read("store", store)
    assert outcome.kind == "refused" and name in outcome.text, outcome.text
    assert outcome.seconds < SECONDS and outcome.megabytes < MEGABYTES


def test_a_whole_one_is_read(reader: Child, store: Path) -> None:
    outcome = reader.read("store", store)
    assert outcome.kind == "done", outcome.text


@pytest.mark.parametrize(
    "name", ["pairs", "indptr", "indices", "pair_of_entry", "features_indptr", "features_indices"]
)
@pytest.mark.parametrize("value", [-1, 2**31 - 1])
def test_indices_that_point_elsewhere(reader: Child, store: Path, name: str, value: int) -> None:
    array = np.load(store / f"{name}.npy", allow_pickle=False)
    array.reshape(-1)[5] = value
    np.save(store / f"{name}.npy", array)
    refused(reader, store, name)


@pytest.mark.parametrize("name", ["pairs", "features_values", "indptr"])
def test_headers_that_lie(reader: Child, store: Path, tmp_path: Path, name: str) -> None:
    path, mark = store / f"{name}.npy", tmp_path / "mark"
    path.write_bytes(npy("<i8", (2, 10**12)))
    refused(reader, store, name)
    np.save(path, np.array([Evil(mark)], dtype=object))
    refused(reader, store, name)
    np.save(path, np.zeros(3))
    refused(reader, store, name)
    assert not mark.exists()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "header",
    [
        "(((",  # what Python's tokenizer, its parser and NumPy's own checks trip over
        "  x\n y",
        "{[]: 1}",
        "{1: 2, 'a': 3}",
        "-" * 5000 + "1",
        "{'descr': ',,', 'fortran_order': False, 'shape': (8,)}",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (True,)}",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (8L,)}",  # read, with no warning
    ],
)
def test_headers_that_are_no_python(reader: Child, store: Path, header: str, version: int) -> None:
    length = len(header).to_bytes(2 * version, "little")
    start = b"\x93NUMPY" + bytes([version, 0]) + length + header.encode()
    (store / "pairs.npy").write_bytes(start + bytes(64))
    refused(reader, store, "pairs")


def test_an_archive_in_the_place_of_an_array(reader: Child, store: Path) -> None:
    with (store / "pairs.npy").open("wb") as file:
        np.savez(file, pairs=np.zeros((2, 3)))
    refused(reader, store, "pairs")


def swapped(pairs: Any) -> Any:
    return pairs[:, [1, 0, *range(2, pairs.shape[1])]]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("pairs", swapped),
        ("pairs", lambda pairs: pairs[::-1].copy()),
        ("pairs", lambda pairs: pairs[:, [0, 0, *range(2, pairs.shape[1])]]),
        ("pairs", lambda pairs: np.concatenate([pairs[:, :1] * [[0], [0]], pairs[:, 1:]], 1)),
        ("pair_of_entry", lambda entries: entries[::-1].copy()),
        ("indices", lambda indices: np.zeros_like(indices)),
        ("pairs", lambda pairs: pairs.astype(">i4")),
        ("pairs", lambda pairs: pairs.astype(np.int16)),
        ("features_values", lambda values: values.astype(np.float64)),
    ],
)
def test_what_is_no_graph(
    reader: Child, store: Path, name: str, change: Callable[[Any], Any]
) -> None:
    np.save(store / f"{name}.npy", change(np.load(store / f"{name}.npy", allow_pickle=False)))
    refused(reader, store, "store")


def test_ids_that_are_twice_or_none(reader: Child, store: Path) -> None:
    for ids in (["a"] * 60, [None, *map(str, range(59))]):
        pq.write_table(pa.table({"id": ids}), store / "ids.parquet")
        refused(reader, store, "ids.parquet")


def changed(**entries: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda manifest: manifest | entries


@pytest.mark.parametrize(
    "change",
    [
        changed(num_nodes=10**12),
        changed(num_nodes="many"),
        changed(num_pairs=-1),
        changed(files=[]),
        changed(files={"../edges.csv": {"bytes": 1, "sha256": ""}}),
        changed(cleaning={"a": 1}),
        changed(name=[1]),
        changed(notes=5),
        changed(format="other"),
        lambda manifest: [manifest],
        lambda manifest: {},
    ],
)
def test_manifests(reader: Child, store: Path, change: Callable[..., Any]) -> None:
    path = store / "manifest.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    outcome = reader.read("store", store)
    assert outcome.kind == "refused", outcome.text


EDGES = [case for case in CASES if case[0] == "edges"]


@pytest.mark.parametrize(
    ("name", "content", "match"), [case[1:] for case in EDGES], ids=[case[1] for case in EDGES]
)
def test_hostile_edges_are_not_ingested(
    reader: Child, tmp_path: Path, name: str, content: Any, match: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content())
    outcome = reader.read("ingest", path)
    assert outcome.kind == "refused", outcome.text
    assert outcome.seconds < SECONDS and outcome.megabytes < MEGABYTES
