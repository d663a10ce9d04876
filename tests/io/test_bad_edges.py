"""What is no edge list is refused in one line that says the way out, in bounded time and memory."""

import gzip
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from maskgae.base.errors import InputError
from maskgae.io import sources
from maskgae.io.edges import read_edges

GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
MTX = "%%MatrixMarket matrix coordinate "


def parquet_with(old: bytes, new: bytes) -> bytes:
    """A Parquet file in which some bytes are others."""
    file = io.BytesIO()
    pq.write_table(pa.table({"a": ["old1"], "b": ["old2"]}), file, compression="none")
    return file.getvalue().replace(old, new)


BAD_UTF8 = parquet_with(b"old1", b"\xff\xff\xff\xff")


def refused(path: Path, match: str, **options: object) -> str:
    with pytest.raises(InputError, match=match) as caught:
        read_edges(path, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message or "column" in message or "separator" in message
    return message


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n\n", "no row"),
        ("a.csv", b"1\n2\n", "an edge needs two columns, but there is one"),
        ("a.txt", b"# only\n# comments\n", "no row"),
        ("a.csv", b"1,2\n3,4,5\n", "line 2 has 3"),
        ("a.csv", b'source,target\n1,"a\nb"\n3\n', "line 4 has 1"),
        ("a.txt", b"# x\n1 2\n\n3 4 5\n", "line 4 has 3"),
        ("a.csv", b"source,target\n", "0 edges"),
        ("a.csv", b"a,b\n,c\n", "column '0' is empty on line 2"),
        ("a.csv", b"source,target\na,\n", "column 'target' is empty on line 2"),
        ("a.csv", b"a,b\nc,d\xff\n", "must be text in UTF-8, but line 2 is not"),
        ("a.csv", "a,b\n".encode("utf-16"), "text in UTF-16"),
        ("a.csv", bytes(range(256)), "a binary file"),
        ("a.csv", gzip.compress(b"a,b\n", mtime=0), "a gzip file"),
        ("a.csv", b"PAR1....PAR1", "a Parquet file"),
        ("a.tsv", pickle.dumps(["a"]), "a pickle"),
        ("a.csv", b'a,"' + b"x\n" * 5000, "is a quote not closed"),
        ("a.csv.gz", b"a,b\n", "must be a whole gzip file"),
        ("a.csv.gz", gzip.compress(b"a,b\n" * 9, mtime=0)[:-9], "must be a whole gzip file"),
        ("a.parquet", b"PAR1 broken footer \xff\xff\xff\x7fPAR1", "must be a whole Parquet file"),
        ("a.parquet", b"a,b\n", "must be a whole Parquet file"),
        ("a.parquet", BAD_UTF8, "must be a whole Parquet file"),
        ("a.npz", b"a,b\n", r"must be a whole \.npz archive"),
        ("a.mtx", b"1 2 3\n", "no line '%%MatrixMarket matrix'"),
        ("a.mtx", (MTX + "real general\nx y z\n").encode(), "no line with the numbers"),
        ("a.mtx", (MTX + "real general\n3 3 9999999\n1 1 1\n").encode(), "entries are promised"),
        ("a.mtx", (MTX + "real general\n3 3 2\n1 1 1 \n\n\n").encode(), "promised and 1 found"),
        ("a.mtx", (MTX + "real general\n3 3 1\n1 x 1\n").encode(), "Matrix Market"),
        ("a.mtx", (MTX + "real general\n3 3 1\n1 1 1 1\n").encode(), "Matrix Market"),
        ("a.mtx", (MTX + "real general\n3 3 1\n0 1 1\n").encode(), "not in 1 to 3"),
        ("a.mtx", (MTX + "pattern general\n3 3 1\n1 4\n").encode(), "not in 1 to 3"),
        ("a.mtx", (MTX + "pattern symmetric\n3 2 1\n3 2\n").encode(), "it says symmetric"),
        ("a.mtx", (MTX + "real general\n3 3 0\n").encode(), "0 edges"),
        ("a.mtx", (MTX + "pattern general\n2 3 1\n1 3\n").encode(), "must be square"),
        ("a.mtx", (MTX + "real general\n2 2 1\n1 2 -5\n").encode(), "row 1, column 2 has -5"),
        ("a.mtx", (MTX + "complex general\n2 2 1\n1 2 1 1\n").encode(), "real numbers"),
        ("a.mtx", (MTX + f"pattern general\n{10**12} {10**12} 1\n1 2\n").encode(), "claims"),
        ("a.graphml", b"<html></html>", "first element is <html>"),
        ("a.graphml", b"a,b\n", "must be GraphML"),
        ("a.graphml", (GRAPHML + "<graph>").encode(), "must be GraphML"),
        ("a.graphml", (GRAPHML + "<graph><edge source='a'/></graph></graphml>").encode(), "target"),
        ("a.graphml", (GRAPHML + "<graph></graph></graphml>").encode(), "0 edges"),
        ("a.graphml", (GRAPHML + "<graph><hyperedge/></graph></graphml>").encode(), "two ends"),
        ("a.xlsx", b"a,b\n", r"unknown ending '\.xlsx': known are \.csv, .*\.parquet"),
        ("a.parquet.gz", b"a,b\n", "unknown ending"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, name: str, content: bytes, match: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    refused(path, match)


def test_no_such_file(tmp_path: Path) -> None:
    refused(tmp_path / "a.csv", "does not exist")
    (tmp_path / "b.csv").mkdir()
    refused(tmp_path / "b.csv", "must be a file")


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("source,target,strength\na,b,1\n")
    refused(path, "no column 'strenght': did you mean 'strength'", weight="strenght")
    refused(path, "none at 7", weight=7)
    refused(path, "both columns", source="source")
    path.write_text("1,2\n")
    refused(path, "there is no header", source="a", target="b")
    refused(path, "one character", sep="::")


def test_parquet_ids_and_weights_have_types(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1.5], "b": [2]}), path)
    refused(path, "strings or integers, but column 'a' has the type double")
    pq.write_table(pa.table({"a": ["x", "y"], "b": ["x", None]}), path)
    refused(path, "column 'b' is empty on row 2")
    pq.write_table(pa.table({"a": [1, 2], "b": [2, 3], "weight": [1.0, None]}), path)
    refused(path, "row 2 has None")
    pq.write_table(pa.table({"a": [1]}), path)
    refused(path, "two columns, but there is one")


def test_entities_are_refused_before_they_expand(tmp_path: Path) -> None:
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 30))
    text = f'<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY l0 "ha">{laughs}]><graphml>&l29;'
    path = tmp_path / "a.graphml"
    path.write_text(text)
    refused(path, "DOCTYPE")
    path.write_text('<!DOCTYPE graphml SYSTEM "file:///etc/passwd"><graphml/>')
    refused(path, "DOCTYPE")


def test_gzip_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "UNPACKED_FREE", 2**20)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 2**20))
    refused(path, "may unpack to at most 200 times its size")


def test_an_archive_that_unpacks_to_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "UNPACKED_FREE", 2**20)
    path = tmp_path / "a.npz"
    np.savez_compressed(path, data=np.zeros(2**20))
    refused(path, "may unpack to at most 200 times its size")


def test_parquet_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "UNPACKED_FREE", 2**20)
    path = tmp_path / "a.parquet"
    same = pa.array(np.ones(2**20, dtype=np.int64))
    pq.write_table(pa.table({"a": same, "b": same}), path)
    refused(path, "may unpack to at most 200 times its size")


class Evil:
    """Would touch a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.path,))


def test_pickles_in_archives_are_refused_and_not_run(tmp_path: Path) -> None:
    mark, path = tmp_path / "touched", tmp_path / "a.npz"
    array = np.array([Evil(mark)], dtype=object)
    np.savez(path, format=array, shape=array, data=array)
    refused(path, "holds Python objects")
    assert not mark.exists()


def test_an_archive_that_lies(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.zeros(3))
    refused(path, "must hold a sparse matrix saved by scipy.sparse.save_npz, but it holds 'a'")
    header = io.BytesIO()
    promise = {"descr": "<f8", "fortran_order": False, "shape": (10**13,)}
    np.lib.format.write_array_header_1_0(header, promise)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.npy", header.getvalue() + b"\0" * 64)
    refused(path, "promises 80,000,000,000,000 bytes and has 64")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", b"hello")
    refused(path, r"must be a whole \.npz archive")


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"indices": np.array([5, 0])}, "indices beyond 2"),
        ({"indices": np.array([-1, 0])}, "indices beyond 2"),
        ({"indptr": np.array([0, 3, 2])}, "do not ascend"),
        ({"indptr": np.array([0, 2])}, "another size"),
        ({"shape": np.array([2])}, "shape is not"),
        ({"shape": np.array([2, 3])}, "must be square"),
        ({"data": np.array(["a", "b"])}, "data of type"),
        ({"format": np.array(b"dia")}, "format 'dia'"),
        ({"data": np.array([np.nan, 1])}, "row 0, column 1 has nan"),
    ],
)
def test_a_matrix_that_lies(tmp_path: Path, changed: dict[str, object], match: str) -> None:
    matrix = sp.csr_matrix([[0, 1], [1, 0]])
    arrays = {"format": b"csr", "shape": matrix.shape, "data": matrix.data}
    arrays |= {"indices": matrix.indices, "indptr": matrix.indptr}
    np.savez(tmp_path / "a.npz", **(arrays | changed))
    refused(tmp_path / "a.npz", match)
