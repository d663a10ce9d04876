"""Tables of nodes, the graph they make with edges, and what is wrong with some of them."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from maskgae.base.errors import InputError
from maskgae.io import (
    as_ids,
    build_graph,
    fit_encoder,
    read_edges,
    read_ids,
    read_nodes,
)


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "ids", "columns"),
    [
        ("a.csv", "id,x\n007,1\nNA,2\n", ["007", "NA"], ["x"]),
        ("a.csv", "x,Node_ID,y\n1,5,2\n2,6,3\n", [5, 6], ["x", "y"]),
        ("a.csv", "x,y\n1,5\n2,6\n", [1, 2], ["y"]),
        ("a.csv", "id;x\n1;5\n", [1], ["x"]),
        ("a.tsv", "name\tnode\nann\t1\n", [1], ["name"]),
        ("a.csv", "2019,2020\na,1\n", ["a"], ["2020"]),
    ],
)
def test_text(tmp_path: Path, name: str, content: str, ids: list[Any], columns: list[str]) -> None:
    path = written(tmp_path, name, content)
    table = read_nodes(path)
    assert table.ids.tolist() == ids
    assert list(table.columns) == columns
    packed = read_nodes(written(tmp_path, name + ".gz", gzip.compress(path.read_bytes())))
    assert packed.ids.tolist() == ids


def test_id_column_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "id,x\n1,a\n2,b\n")
    assert read_nodes(path, "x").ids.tolist() == ["a", "b"]
    assert read_nodes(path, 1).ids.tolist() == ["a", "b"]
    assert read_nodes(path, header=False).ids.tolist() == ["id", "1", "2"]
    with pytest.raises(InputError, match="no column 'y'"):
        read_nodes(path, "y")


def test_parquet_keeps_types(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [True, None], "id": ["007", "7"], "y": [1.5, 2]}), path)
    table = read_nodes(path)
    assert table.ids.tolist() == ["007", "7"]
    assert [str(column.type) for column in table.columns.values()] == ["bool", "double"]


@pytest.mark.parametrize(
    ("ids", "names"),
    [([5, 7, 9], [5, 7, 9]), ([0, 2], [0, 1, 2]), ([0, 1, 2], [0, 1, 2]), ([2], [0, 1, 2])],
)
def test_rows_of_a_matrix_follow_the_ids_or_their_own_numbers(
    tmp_path: Path, ids: list[int], names: list[int]
) -> None:
    np.save(tmp_path / "a.npy", np.eye(3))
    assert read_nodes(tmp_path / "a.npy", ids=ids).ids.tolist() == names


def test_matrices_take_a_list_of_ids(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[1, 2], [3, 4]], dtype=np.float32))
    ids = read_ids(written(tmp_path, "ids.txt", "NA\r\n007\n"))
    assert read_nodes(tmp_path / "a.npy", ids=ids).ids.tolist() == ["NA", "007"]
    assert read_nodes(tmp_path / "a.npy").ids.tolist() == [0, 1]
    with pytest.raises(InputError, match="2 rows and 3 ids"):
        read_nodes(tmp_path / "a.npy", ids=["a", "b", "c"])
    np.savez(tmp_path / "a.npz", x=np.eye(2), ids=np.array(["b", "a"]), y=np.zeros(2))
    table = read_nodes(tmp_path / "a.npz")
    assert table.ids.tolist() == ["b", "a"]
    assert table.matrix.tolist() == [[1, 0], [0, 1]]
    assert read_nodes(tmp_path / "a.npz", ids=["a", "b"]).ids.tolist() == ["b", "a"]
    np.save(tmp_path / "ids.npy", np.array([b"x", b"y"]))
    assert read_ids(tmp_path / "ids.npy").tolist() == ["x", "y"]
    sp.save_npz(tmp_path / "s.npz", sp.csc_matrix([[0, 5.0], [0, 0]]))
    assert read_nodes(tmp_path / "s.npz").matrix.toarray().tolist() == [[0, 5], [0, 0]]


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"id,x\n", "no rows"),
        ("a.csv", b"id,x\n1,2\n3\n", "line 3 has 1"),
        ("a.csv", b"id,x,x\n1,2,3\n", "several called 'x'"),
        ("a.csv", b"id,x\n1,2\n1,3\n2,1\n", "several of 1: merge"),
        ("a.csv", b"id,x\n1,2\n,3\n", "column 'id' is empty on line 3"),
        ("a.csv", b"id,x\n1,\xe9\n", "line 2 is not"),
        ("a.parquet", b"PAR1", "whole Parquet file"),
        ("a.npy", b"\x93NUMPY\x01\x00v\x00{'descr'", r"whole \.npy array"),
        ("a.npy", b"\x93NUMPY\x01\x00\x06\x00{'de':\n", "its header is broken"),
        ("a.npy", b"a,b\n", r"whole \.npy array"),
        ("a.npz", b"PK\x03\x04", r"whole \.npz archive"),
        ("a.json", b"{}", "unknown ending"),
    ],
)
def test_refused(tmp_path: Path, name: str, content: bytes, match: str) -> None:
    with pytest.raises(InputError, match=match) as caught:
        read_nodes(written(tmp_path, name, content))
    assert "\n" not in str(caught.value)


def test_arrays_of_objects_and_other_shapes_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    with pytest.raises(InputError, match="holds Python objects"):
        read_nodes(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", x=np.eye(2), ids=np.array(["a", "b"], dtype=object))
    with pytest.raises(InputError, match="'ids' holds Python objects"):
        read_nodes(tmp_path / "a.npz")
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(InputError, match="matrix of numbers"):
        read_nodes(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(InputError, match="but it holds 'a', 'b'"):
        read_nodes(tmp_path / "a.npz")
    with pytest.raises(InputError, match="all strings or all integers"):
        as_ids(["a", 1])


EDGES = "source,target,weight\nb,a,1\na,b,2\nb,b,9\nc,a,1\nc,a,0.5\n"


def test_graph_without_table(tmp_path: Path) -> None:
    built = build_graph(read_edges(written(tmp_path, "friends.csv", EDGES)))
    assert built.ids.tolist() == ["a", "b", "c"]
    assert built.graph.pairs.tolist() == [[0, 0], [1, 2]]
    assert built.graph.weights is not None
    assert built.graph.weights.tolist() == [3, 1.5]
    assert built.graph.name == "friends"
    assert built.notes[-1] == (
        "1 self-loops dropped, 1 duplicates merged, 1 directed edges symmetrised, "
        "0 isolated nodes kept"
    )


def test_graph_with_table(tmp_path: Path) -> None:
    edges = read_edges(written(tmp_path, "a.csv", EDGES))
    nodes = read_nodes(written(tmp_path, "t.csv", "id,x,y\nd,0,u\nc,1,v\nb,1,\na,0,u\n"))
    built = build_graph(edges, nodes, fit_encoder(nodes, "y"))
    assert built.ids.tolist() == ["a", "b", "c", "d"]
    assert built.graph.features is not None and built.graph.labels is not None
    assert built.graph.features.dense().tolist() == [[0], [1], [1], [0]]
    assert built.graph.labels.tolist() == [0, -1, 1, 0]
    assert built.label_names == ("u", "v")
    assert built.graph.pairs.tolist() == [[0, 0], [1, 2]]
    assert "1 nodes of the table have no edge and are kept" in built.notes
    assert build_graph(edges, nodes).graph.features is None


def test_integers_meet_strings(tmp_path: Path) -> None:
    edges = read_edges(written(tmp_path, "a.csv", "7,8\n"))
    nodes = read_nodes(written(tmp_path, "t.csv", "id,x\n8,1\n007,2\n7,3\n"))
    built = build_graph(edges, nodes, fit_encoder(nodes))
    assert built.ids.tolist() == ["007", "7", "8"]
    assert built.graph.pairs.tolist() == [[1], [2]]


def test_nodes_without_a_row_are_named(tmp_path: Path) -> None:
    edges = read_edges(written(tmp_path, "a.csv", "".join(f"n{i},n{i + 1}\n" for i in range(7))))
    nodes = read_nodes(written(tmp_path, "t.csv", "id,x\nn0,1\n"))
    with pytest.raises(InputError, match="none for 'n1', 'n2', 'n3', 'n4', 'n5' and 2 more"):
        build_graph(edges, nodes)
