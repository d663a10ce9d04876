"""What is written reads back, and a failure leaves what was there."""

import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskgae.base.errors import InputError, RunError
from maskgae.io import as_ids, read_edges, read_nodes, write_table
from maskgae.io.writers import whole_file

#: Anything but lone surrogates, which UTF-8 has no bytes for, and zero bytes, which no text has.
any_character = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
ids_of_any_kind = st.text(any_character, min_size=1, max_size=12)
lists_of_ids = st.lists(ids_of_any_kind, min_size=1, max_size=8, unique=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@settings(deadline=None, max_examples=60)
@given(ids=lists_of_ids, ending=st.sampled_from(["csv", "tsv", "parquet"]))
def test_ids_come_back_unchanged(folder: Path, ids: list[str], ending: str) -> None:
    path = folder / f"a.{ending}"
    write_table(path, {"source": as_ids(ids), "target": as_ids(ids[::-1])})
    table = read_edges(path, strip=False)
    assert [str(i) for i in table.ids[table.edges[0]]] == ids
    assert [str(i) for i in table.ids[table.edges[1]]] == ids[::-1]
    write_table(path, {"id": as_ids(ids), "x": np.arange(len(ids))})
    assert [str(i) for i in read_nodes(path).ids] == ids


@settings(deadline=None, max_examples=60)
@given(ids=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8, unique=True))
def test_integers_come_back_as_integers(folder: Path, ids: list[int]) -> None:
    for ending in ("csv", "parquet", "npz"):
        path = folder / f"b.{ending}"
        write_table(path, {"ids": as_ids(ids), "x": np.ones((len(ids), 1))})
        found = read_nodes(path).ids
        assert found.dtype == np.int64
        assert found.tolist() == ids


@settings(deadline=None, max_examples=60)
@given(ids=lists_of_ids)
def test_words_between_blanks_come_back_unchanged(folder: Path, ids: list[str]) -> None:
    words = ["".join(x for x in word if x not in " \t\r\n") + "." for word in ids]
    path = folder / "c.edges"
    path.write_text("".join(f"x  {word}\n" for word in words), encoding="utf-8", newline="")
    table = read_edges(path, header=False, strip=False)
    assert table.ids[table.edges[1]].tolist() == words


def test_matrices_are_spread(tmp_path: Path) -> None:
    columns = {"id": as_ids(["b,", "a"]), "z": np.array([[0.1, -1], [1 / 3, 2]], dtype=np.float32)}
    write_table(tmp_path / "a.csv", columns)
    assert (tmp_path / "a.csv").read_text() == '"id","z_0","z_1"\n"b,",0.1,-1\n"a",0.33333334,2\n'
    write_table(tmp_path / "a.tsv", columns)
    assert (tmp_path / "a.tsv").read_text().startswith('"id"\t"z_0"\t"z_1"\n')
    write_table(tmp_path / "a.parquet", columns)
    assert pq.read_table(tmp_path / "a.parquet").column_names == ["id", "z_0", "z_1"]
    write_table(tmp_path / "a.npz", columns)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert arrays["id"].tolist() == ["b,", "a"]
        assert arrays["z"].dtype == np.float32 and arrays["z"].shape == (2, 2)
    write_table(tmp_path / "a.npy", {"z": columns["z"]})
    assert np.load(tmp_path / "a.npy", allow_pickle=False).tolist() == columns["z"].tolist()


def test_formulas_are_disarmed_where_asked(tmp_path: Path) -> None:
    ids = as_ids(["=1+1", "+1", "-1", "@a", "a=b", "\t=1"])
    path = tmp_path / "a.csv"
    write_table(path, {"=x": ids, "n": np.full(6, -1)}, spreadsheet_safe=True)
    cells = ["'=1+1", "'+1", "'-1", "'@a", "a=b", "'\t=1"]
    assert path.read_text() == '"\'=x","n"\n' + "".join(f'"{cell}",-1\n' for cell in cells)
    write_table(path, {"x": ids})
    assert read_nodes(path).ids.tolist() == ids.tolist()


def test_refused(tmp_path: Path) -> None:
    column = {"a": np.ones(2)}
    for name, columns, match in [
        ("a.xls", column, "unknown ending"),
        ("no/a.csv", column, "folder does not exist"),
        ("a.npy", {"a": np.ones(2), "b": np.ones(2)}, "can hold one array"),
        ("a.csv", {"a": np.ones(2), "b": np.ones(3)}, "one length"),
        ("a.csv", {"a": np.ones((2, 2, 2))}, "one or two dimensions"),
        ("a.csv", {"a": np.ones((2, 1)), "a_0": np.ones(2)}, "two columns are called 'a_0'"),
        ("a.csv", {"a": np.array([{}, 1], dtype=object)}, "numbers or strings"),
        ("a.npz", {"a": np.array(["x\0", "y"], dtype=object)}, "zero byte"),
        ("a.npz", {"a": np.array([{}, 1], dtype=object)}, "must be numbers"),
    ]:
        with pytest.raises(InputError, match=match):
            write_table(tmp_path / name, columns)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="No space left"):
        write_table(path, {"a": np.ones(2)})
    with pytest.raises(KeyboardInterrupt), whole_file(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
