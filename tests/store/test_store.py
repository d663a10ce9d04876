"""A store holds the graph that the same files give in memory, whatever happened on the way."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import torch

from maskgae.base.errors import InputError, RunError
from maskgae.base.replace import NEW
from maskgae.data import Features, Graph, SparseFeatures
from maskgae.datasets.generated import generate
from maskgae.datasets.generated_store import generate_store
from maskgae.io import build_graph, fit_encoder, read_edges, read_nodes, text
from maskgae.store import assemble, sorting
from maskgae.store import ingest as ingesting
from maskgae.store.ingest import Stages, ingest
from maskgae.store.sorting import SortedRuns
from maskgae.store.store import Store, open_store

# Ids that must stay what they are, blank-separated and quoted ones apart.
WORDS = ["007", "7", "NA", "null", "Zürich", "東京", "-0", "1e3", "x", "y", "0"]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs, ranges and blocks so small that every file has many."""
    monkeypatch.setattr(sorting, "RUN", 16)
    monkeypatch.setattr(sorting, "_SAMPLED", 2)
    monkeypatch.setattr(assemble, "CHUNK_PAIRS", 12)
    monkeypatch.setattr(text, "_BLOCK", 256)


def in_memory(edges: Path, nodes: Path | None = None, label: str | None = None) -> Any:
    listed = read_edges(edges)
    if nodes is None:
        return build_graph(listed)
    table = read_nodes(nodes, ids=listed.ids)
    return build_graph(listed, table, fit_encoder(table, label))


def same_features(ours: Features | None, expected: Features | None) -> bool:
    if ours is None or expected is None:
        return ours is expected
    kinds = isinstance(ours, SparseFeatures) == isinstance(expected, SparseFeatures)
    return kinds and ours.dense().equal(expected.dense())


def assert_same(store: Store, built: Any) -> None:
    ours, expected = store.graph, built.graph
    assert store.ids.tolist() == built.ids.tolist()
    assert store.ids.dtype == built.ids.dtype
    assert ours.num_nodes == expected.num_nodes
    assert ours.pairs.long().equal(expected.pairs)
    for name in ("indptr", "indices"):
        found = getattr(ours.structure.csr, name)
        assert found.long().equal(getattr(expected.structure.csr, name))
    assert ours.structure.pair_of_entry.long().equal(expected.structure.pair_of_entry)
    for name in ("weights", "labels"):
        found, wanted = getattr(ours, name), getattr(expected, name)
        assert found is wanted is None or found.equal(wanted)
    assert same_features(ours.features, expected.features)
    assert ours.cleaning == expected.cleaning
    assert ours.name == expected.name
    assert store.notes == built.notes
    assert store.label_names == built.label_names


def random_ids(rng: np.random.Generator, kind: str, size: tuple[int, int]) -> Any:
    numbers = rng.integers(0, 40, size)
    if kind == "close":
        return numbers
    if kind == "apart":
        return numbers**3 - 500
    return np.array([*WORDS, *(f"id {i}" for i in range(40))], dtype=object)[numbers]


def write_csv(path: Path, rows: Any, head: str = "source,target") -> Path:
    lines = [head, *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["close", "apart", "words"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_store_equals_the_graph_in_memory(
    tmp_path: Path, kind: str, weighted: bool, ending: str
) -> None:
    rng = np.random.default_rng(3)
    rows = random_ids(rng, kind, (150, 2)).tolist()
    if weighted:
        rows = [
            [*row, round(float(x), 3)] for row, x in zip(rows, rng.random(150) + 0.1, strict=True)
        ]
    edges = tmp_path / f"edges{ending}"
    names = ["source", "target", "weight"][: 2 + weighted]
    if ending == ".parquet":
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns), edges, row_group_size=20)
    else:
        plain = write_csv(tmp_path / "edges.csv", rows, ",".join(names))
        if ending == ".csv.gz":
            edges.write_bytes(gzip.compress(plain.read_bytes()))
    store = ingest(edges, tmp_path / "store")
    assert_same(store, in_memory(edges))
    assert store.graph.pairs.dtype == torch.int32
    store.verify()
    assert not (tmp_path / "store" / ".work").exists()


@pytest.mark.parametrize(
    "content",
    [
        "1 2\n2 3\n",
        "# a comment\n  1\t 2 \r\n\n2   3\r\n# another\n3 1\n3 3\n1 2",
        "\ufeffa b\nb c\na b\nb a\n",
        "1 1\n",
        "5 4\n# tail",
        "99999999999999999999 1\n1 2\n",
        "1 2\n3 02\n",
    ],
)
def test_text_with_blanks(tmp_path: Path, content: str) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_bytes((content * 1).encode())
    assert_same(ingest(edges, tmp_path / "store"), in_memory(edges))


def test_quoted_cells_may_contain_breaks(tmp_path: Path) -> None:
    edges = tmp_path / "edges.csv"
    rows = [f'"a\n{i}","b, {i % 3}"' for i in range(30)]
    edges.write_text("source,target\n" + "\n".join(rows))
    assert_same(ingest(edges, tmp_path / "store"), in_memory(edges))


def test_matrices_keep_nodes_without_edges(tmp_path: Path) -> None:
    matrix = sp.coo_matrix(([1.0, 1.0, 2.5], ([0, 4, 2], [4, 0, 2])), shape=(7, 7))
    edges = tmp_path / "adjacency.npz"
    sp.save_npz(edges, matrix.tocsr())
    assert_same(ingest(edges, tmp_path / "store"), in_memory(edges))


@pytest.mark.parametrize("kind", ["close", "words"])
@pytest.mark.parametrize("sparse", [False, True])
def test_tables_become_features_and_labels(tmp_path: Path, kind: str, sparse: bool) -> None:
    rng = np.random.default_rng(1)
    pool = random_ids(rng, kind, (1, 400))[0]
    edges = write_csv(tmp_path / "edges.csv", zip(pool[:80], pool[80:160], strict=True))
    known = np.unique(pool.astype(str))
    rng.shuffle(known)
    values = rng.normal(size=(known.size, 8)) * (rng.random((known.size, 8)) < 0.05 + 1 - sparse)
    rows = [
        [name, f"class {i % 3}", *map(str, row.round(3))]
        for i, (name, row) in enumerate(zip(known, values, strict=True))
    ]
    head = ",".join(["id", "kind", *(f"x{i}" for i in range(8))])
    nodes = write_csv(tmp_path / "nodes.csv", rows, head)
    store = ingest(edges, tmp_path / "store", nodes=nodes, label="kind")
    assert_same(store, in_memory(edges, nodes, "kind"))
    assert store.encoding == fit_encoder(read_nodes(nodes), "kind").to_json()


def test_a_matrix_has_a_row_for_each_id_in_order(tmp_path: Path) -> None:
    edges = write_csv(tmp_path / "edges.csv", [(30, 10), (20, 10)])
    nodes = tmp_path / "features.npy"
    np.save(nodes, np.arange(6.0).reshape(3, 2))
    assert_same(ingest(edges, tmp_path / "store", nodes=nodes), in_memory(edges, nodes))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("source,target\n1,2\n" + "3,4\n" * 40 + ",5\n", "is empty on line 43"),
        ("source,target\n1,2\n" + "3,4\n" * 40 + "3,4,5\n", "line 43 has 3"),
        ("source,target,weight\n" + "1,2,1\n" * 40 + "1,2,-1\n", "line 42 has -1"),
        ("source,target\n", "0 edges"),
        ("source,target\n a,b\na,c\n", "differ by blanks"),
    ],
)
def test_bad_files_are_refused_as_in_memory(tmp_path: Path, content: str, message: str) -> None:
    edges = tmp_path / "edges.csv"
    edges.write_text(content)
    with pytest.raises(InputError, match=message) as ours:
        ingest(edges, tmp_path / "store")
    with pytest.raises(InputError) as expected:
        in_memory(edges)
    assert str(ours.value) == str(expected.value)


def test_an_edge_without_a_row_is_refused(tmp_path: Path) -> None:
    edges = write_csv(tmp_path / "edges.csv", [(1, 2), (2, 3)])
    nodes = write_csv(tmp_path / "nodes.csv", [(1, 0.5), (2, 0.1)], "id,x")
    with pytest.raises(InputError, match=r"none for '?3'?"):
        ingest(edges, tmp_path / "store", nodes=nodes)


def content(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.parametrize("stage", ["ids", "edges", "pairs", "rows", "nodes", "checksums"])
def test_a_killed_ingest_goes_on_and_ends_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    rng = np.random.default_rng(5)
    edges = write_csv(tmp_path / "edges.csv", rng.integers(0, 30, (200, 2)))
    nodes = write_csv(tmp_path / "nodes.csv", [(i, i**2) for i in range(31)], "id,x")
    ingest(edges, tmp_path / "whole", nodes=nodes)
    begun: list[str] = []

    def on_stage(name: str) -> None:
        begun.append(name)
        if name == stage and begun.count(stage) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(edges, tmp_path / "store", nodes=nodes, on_stage=on_stage)
    with pytest.raises(InputError, match="not a finished store"):
        open_store(tmp_path / "store")
    ingest(edges, tmp_path / "store", nodes=nodes, on_stage=on_stage)
    assert content(tmp_path / "store") == content(tmp_path / "whole")
    assert [begun.count(name) for name in dict.fromkeys(begun)].count(2) == 1


def test_half_written_stages_begin_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = write_csv(tmp_path / "edges.csv", np.random.default_rng(5).integers(0, 30, (200, 2)))
    ingest(edges, tmp_path / "whole")
    real, calls = SortedRuns.flush, []

    def dying(self: SortedRuns) -> None:
        calls.append(self)
        if len(calls) == 4:
            raise KeyboardInterrupt
        real(self)

    monkeypatch.setattr(SortedRuns, "flush", dying)
    with pytest.raises(KeyboardInterrupt):
        ingest(edges, tmp_path / "store")
    ingest(edges, tmp_path / "store")
    assert content(tmp_path / "store") == content(tmp_path / "whole")


def test_another_source_begins_anew(tmp_path: Path) -> None:
    stages = Stages(tmp_path / "store", {"edges": "a"})
    assert stages.run("ids", lambda: {"found": 1}) == {"found": 1}
    assert Stages(tmp_path / "store", {"edges": "a"}).run("ids", dict) == {"found": 1}
    assert Stages(tmp_path / "store", {"edges": "b"}).run("ids", dict) == {}


def test_folders_that_are_in_use_are_refused(tmp_path: Path) -> None:
    edges = write_csv(tmp_path / "edges.csv", [(1, 2)])
    ingest(edges, tmp_path / "store")
    with pytest.raises(InputError, match="a store already"):
        ingest(edges, tmp_path / "store")
    write_csv(edges, [(1, 2), (2, 3)])
    assert ingest(edges, tmp_path / "store", force=True).graph.num_pairs == 2
    with pytest.raises(InputError, match="not empty and no store"):
        ingest(edges, tmp_path)
    with pytest.raises(InputError, match="could not be locked"):
        ingest(edges, edges)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    "name", [".work/thesis.txt", ".work/state.json", "manifest.json", "labels.npy"]
)
def test_only_what_an_ingest_wrote_is_taken_for_a_store(
    tmp_path: Path, name: str, force: bool
) -> None:
    edges, out = write_csv(tmp_path / "edges.csv", [(1, 2)]), tmp_path / "mine"
    for path in (out / "pairs.npy", out / name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"format": "mine", "source": {}, "done": {}}')
    before = content(out)
    with pytest.raises(InputError, match="not empty and no store"):
        ingest(edges, out, force=force)
    assert content(out) == before


def test_a_store_stays_until_the_new_one_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges, out = write_csv(tmp_path / "edges.csv", [(1, 2), (2, 3)]), tmp_path / "store"
    ingest(edges, out)
    (out / "notes.txt").write_text("mine")
    old = content(out)
    for rows in ([], [(1, "")]):
        with pytest.raises(InputError):
            ingest(write_csv(tmp_path / "bad.csv", rows), out, force=True)
        kept = {name: data for name, data in content(out).items() if not name.startswith(NEW)}
        assert kept == old
        open_store(out).verify()
    write_csv(edges, [(1, 2), (2, 3), (3, 4)])
    assert ingest(edges, out, force=True).graph.num_pairs == 3
    whole = ingest(edges, tmp_path / "whole")
    assert content(out) == content(whole.folder) | {"notes.txt": b"mine"}


def test_a_killed_replacement_goes_on(tmp_path: Path) -> None:
    edges, out, begun = write_csv(tmp_path / "edges.csv", [(1, 2)]), tmp_path / "store", []
    ingest(edges, out)
    write_csv(edges, [(1, 2), (2, 3)])

    def dying(stage: str) -> None:
        begun.append(stage)
        if begun.count("rows") == 1 == begun.count(stage) and stage == "rows":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(edges, out, force=True, on_stage=dying)
    assert open_store(out).graph.num_pairs == 1
    with pytest.raises(InputError, match="a store already"):
        ingest(edges, out)
    assert ingest(edges, out, force=True, on_stage=dying).graph.num_pairs == 2
    assert begun.count("ids") == 1 and begun.count("rows") == 2
    assert not (out / NEW).exists()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("ids", [[1, 2, 3], [1, 4, 9], ["a", "c", "e"]])
@pytest.mark.parametrize("more", [[0, 1], [5, 1], [99, 1], ["02", 1], ["b", "a"], ["zz", "a"]])
def test_a_file_that_grows_while_it_is_ingested(
    tmp_path: Path, ids: list[Any], more: list[Any], ending: str
) -> None:
    """The rows that come after the first reading name nodes that it did not find."""
    edges, out = tmp_path / f"edges{ending}", tmp_path / "store"

    def write(rows: Any) -> None:
        if ending == ".csv":
            write_csv(edges, rows)
        else:
            cells = np.array(rows, dtype=object).astype(str).T.tolist()
            pq.write_table(pa.table(dict(zip(["source", "target"], cells, strict=True))), edges)

    def growing(stage: str) -> None:
        if stage == "edges" and not grown:
            grown.append(stage)
            write([*rows, more])

    rows, grown = [ids[:2], ids[1:]], list[str]()
    write(rows)
    with pytest.raises(RunError, match="has changed while it was read"):
        ingest(edges, out, on_stage=growing)
    assert not (out / "manifest.json").exists()
    ingest(edges, out).verify()
    assert_same(open_store(out), in_memory(edges))


@pytest.mark.parametrize("stage", ["edges", "pairs", "rows", "nodes"])
@pytest.mark.parametrize("which", ["edges", "nodes"])
def test_a_file_that_changes_at_any_stage(tmp_path: Path, stage: str, which: str) -> None:
    """What it says now is all known, and only the files' stamps tell."""
    edges = write_csv(tmp_path / "edges.csv", [(1, 2), (2, 3)])
    nodes = write_csv(tmp_path / "nodes.csv", [(1, 5), (2, 6), (3, 7)], "id,x")
    rows = {"edges": [(1, 2), (2, 3), (1, 3)], "nodes": [(1, 5), (2, 6), (3, 70)]}
    heads = {"edges": "source,target", "nodes": "id,x"}

    def changing(begun: str) -> None:
        if begun == stage:
            write_csv(tmp_path / f"{which}.csv", rows[which], heads[which])

    with pytest.raises(RunError, match=rf"{which}\.csv has changed while it was read"):
        ingest(edges, tmp_path / "store", nodes=nodes, on_stage=changing)
    assert not (tmp_path / "store" / "manifest.json").exists()
    ingest(edges, tmp_path / "store", nodes=nodes).verify()


@pytest.mark.parametrize("name", ["drop_work", "write_manifest"])
def test_a_replacement_killed_at_its_end_is_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    edges, out = write_csv(tmp_path / "edges.csv", [(1, 2)]), tmp_path / "store"
    ingest(edges, out)
    write_csv(edges, [(1, 2), (2, 3)])
    real = getattr(ingesting, name)

    def dying(folder: Path, *more: Any) -> None:
        if folder.name == NEW and (folder / "pairs.npy").exists():
            real(folder, *more)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ingesting, name, dying)
        ingest(edges, out, force=True)
    assert open_store(out).graph.num_pairs == 1
    assert ingest(edges, out, force=True).graph.num_pairs == 2
    assert content(out) == content(ingest(edges, tmp_path / "whole").folder)


def test_beginning_anew_removes_no_stranger(tmp_path: Path) -> None:
    edges, out = write_csv(tmp_path / "edges.csv", [(1, 2)]), tmp_path / "store"
    Stages(out, {"edges": "another"})
    strangers = [out / "notes.txt", out / ".work" / "notes.txt", out / ".work/keys/notes.txt"]
    for path in strangers:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    assert ingest(edges, out).graph.num_pairs == 1
    assert [path.read_text() for path in strangers] == ["mine"] * 3


def test_changed_stores_are_refused(tmp_path: Path) -> None:
    store = ingest(write_csv(tmp_path / "edges.csv", [(1, 2), (2, 3)]), tmp_path / "store")
    path = store.folder / "indices.npy"
    kept = path.read_bytes()
    path.write_bytes(kept[:-4] + b"\0\0\0\0")
    with pytest.raises(InputError, match=r"indices\.npy is not what was ingested"):
        open_store(store.folder).verify()
    path.write_bytes(kept[:-4])
    with pytest.raises(InputError, match="missing or cut"):
        open_store(store.folder)
    shutil.copy(store.folder / "indptr.npy", path)
    (store.folder / "manifest.json").write_text(json.dumps({"format": "other"}))
    with pytest.raises(InputError, match="not of the format"):
        open_store(store.folder)


def test_nothing_writes_to_the_files(tmp_path: Path) -> None:
    store = ingest(write_csv(tmp_path / "edges.csv", [(1, 2), (2, 3)]), tmp_path / "store")
    store.graph.pairs[0, 0] = 9
    store.verify()


@pytest.mark.parametrize("mapped", [False, True])
def test_a_part_of_the_pairs_keeps_the_rows_sorted(mapped: bool, tmp_path: Path) -> None:
    edges = np.random.default_rng(0).integers(0, 30, (90, 2))
    graph = Graph.from_edges(edges)
    if mapped:
        graph = ingest(write_csv(tmp_path / "edges.csv", edges), tmp_path / "store").graph
    kept = torch.from_numpy(np.random.default_rng(1).random(graph.num_pairs) < 0.6)
    expected = Graph(graph.num_nodes, graph.pairs.long()[:, kept]).structure
    assert graph.structure is not None
    for part in (graph.subgraph(kept), graph.subgraph(kept.nonzero().squeeze(1).flip(0))):
        assert "structure" in part.__dict__
        assert part.structure.csr.indptr.equal(expected.csr.indptr)
        assert part.structure.csr.indices.long().equal(expected.csr.indices)
        assert part.structure.pair_of_entry.long().equal(expected.pair_of_entry)


@pytest.mark.parametrize(
    "request_",
    [
        {"num_nodes": 60, "num_pairs": 300, "communities": 3},
        {"num_nodes": 40, "num_pairs": 200, "num_features": 0, "exponent": 2.2, "seed": 3},
        {"num_nodes": 50, "num_pairs": 100, "num_features": 30, "words": 4, "communities": 2},
    ],
)
def test_a_generated_store_is_the_generated_graph(tmp_path: Path, request_: Any) -> None:
    store = generate_store(tmp_path / "store", **request_)
    expected = generate(**request_)
    assert store.graph.pairs.long().equal(expected.pairs)
    assert store.graph.structure.csr.indices.long().equal(expected.structure.csr.indices)
    assert same_features(store.graph.features, expected.features)
    assert store.graph.labels is not None and store.graph.labels.equal(expected.labels)
    assert store.graph.cleaning == expected.cleaning
    store.verify()


def test_more_pairs_than_the_model_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ask for fewer than"):
        generate_store(tmp_path / "store", 40, 775, homophily=1.0)
