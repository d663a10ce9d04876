"""A store holds the graph that the same files give in memory, or refuses them alike."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import torch
from tests.store.store_files import assert_same, in_memory, write_csv

from maskgae.base.errors import InputError, RunError
from maskgae.io import fit_encoder, read_nodes
from maskgae.store.ingest import ingest
from maskgae.store.store import open_store

# Ids that must stay what they are, blank-separated and quoted ones apart.
WORDS = ["007", "7", "NA", "null", "Zürich", "東京", "-0", "1e3", "x", "y", "0"]


def random_ids(rng: np.random.Generator, kind: str, size: tuple[int, int]) -> Any:
    numbers = rng.integers(0, 40, size)
    if kind == "close":
        return numbers
    if kind == "apart":
        return numbers**3 - 500
    return np.array([*WORDS, *(f"id {i}" for i in range(40))], dtype=object)[numbers]


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
