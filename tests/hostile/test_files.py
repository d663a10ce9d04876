"""Files made to harm: each is refused in one line, in bounded time and memory.

Every file is read in a child whose address space is limited and whose highest resident memory is
read from the kernel, so what is claimed of time and memory is measured.
"""

import gzip
import io
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from tests.harness.bounded import Child

#: No hostile file may take longer, or more memory than the child had before.
SECONDS, MEGABYTES = 10, 400

MILLION = 1_000_000


class Evil:
    """Would make a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.mark,))


def npy(kind: Any, shape: tuple[int, ...], body: bytes = b"") -> bytes:
    """A .npy file whose header says what it likes."""
    file = io.BytesIO()
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + body


def array(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(values))
    return file.getvalue()


def npz(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def sparse(shape: tuple[int, int]) -> bytes:
    """A SciPy matrix with one entry."""
    parts = {"format": b"coo", "shape": shape, "data": [1.0], "row": [0], "col": [0]}
    return npz(**{name: array(value) for name, value in parts.items()})


def packed_zip(size: int) -> bytes:
    """An archive of one array of zeros that deflates a thousandfold."""
    return npz(x=npy("<f8", (size // 8,), bytes(size)))


def parquet(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def repeated_text() -> bytes:
    """A long text that stands once in the file and in 5,000 rows of the table."""
    long = pa.array(["x" * MILLION])
    cells = pa.DictionaryArray.from_arrays(pa.array([0] * 5000, pa.int32()), long)
    return parquet(pa.table({"source": cells, "target": cells}))


def parquet_with_footer(length: bytes) -> bytes:
    whole = parquet(pa.table({"a": ["x"], "b": ["y"]}))
    return whole[:-8] + length + b"PAR1"


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 30))
MTX = b"%%MatrixMarket matrix coordinate pattern general\n"

#: What is read, the file's name, its content, and a word of the refusal.
CASES = [
    ("edges", "bomb.csv.gz", lambda: gzip.compress(b"1,2\n" * 8 * MILLION), "times its size"),
    ("nodes", "bomb.csv.gz", lambda: gzip.compress(b"1,2\n" * 8 * MILLION), "times its size"),
    ("edges", "bomb.graphml.gz", lambda: gzip.compress(b" " * 32 * MILLION), "times its size"),
    ("edges", "bomb.npz", lambda: packed_zip(64 << 20), "times its size"),
    ("nodes", "bomb.npz", lambda: packed_zip(64 << 20), "times its size"),
    ("edges", "text.parquet", repeated_text, "times its size"),
    ("nodes", "text.parquet", repeated_text, "times its size"),
    ("edges", "rows.parquet", lambda: parquet(pa.table({
        "a": np.ones(4 * MILLION, int), "b": np.ones(4 * MILLION, int)})), "times its size"),
    ("edges", "footer.parquet", lambda: parquet_with_footer(b"\xff\xff\xff\x7f"), "Parquet"),
    ("edges", "negative.parquet", lambda: parquet_with_footer(b"\xff\xff\xff\xff"), "Parquet"),
    ("nodes", "cut.parquet", lambda: parquet(pa.table({"id": ["a"]}))[:-20], "Parquet"),
    ("nodes", "huge.npy", lambda: npy("<f8", (10**13, 4), bytes(64)), "promises"),
    ("nodes", "negative.npy", lambda: npy("<f8", (-5, 4), bytes(64)), "promises"),
    ("nodes", "both.npy", lambda: npy("<f8", (-1, -8), bytes(64)), "promises"),
    ("nodes", "overflow.npy", lambda: npy("<f8", (2**63, 2**63), bytes(64)), "promises"),
    ("nodes", "no_columns.npy", lambda: npy("<f8", (10**12, 0)), "promises"),
    ("nodes", "no_rows.npy", lambda: npy("<f8", (0, 10**12)), "promises"),
    ("ids", "no_letters.npy", lambda: npy("<U0", (10**12,)), "promises"),
    ("nodes", "nested.npy", lambda: npy([("a", "<U0")], (10**10, 2)), "promises"),
    ("nodes", "header.npy", lambda: b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{", r"\.npy"),
    ("nodes", "parentheses.npy", lambda: b"\x93NUMPY\x01\x00\x00\x20" + b"(" * 8192, r"\.npy"),
    ("ids", "characters.npy", lambda: npy("<U1", (2,), b"\xff" * 8), "Unicode"),
    ("ids", "surrogates.npy", lambda: npy("<U1", (1,), b"\x00\xd8\x00\x00"), "ids must be"),
    ("nodes", "rows.npz", lambda: sparse((10**12, 1)), "claims"),
    ("nodes", "columns.npz", lambda: sparse((1, 10**15)), "columns"),
    ("edges", "rows.npz", lambda: sparse((2**62, 2**62)), "claims"),
    ("edges", "rows.mtx", lambda: MTX + b"9000000 9000000 1\n1 2\n", "claims"),
    ("edges", "entries.mtx", lambda: MTX + b"9 9 999999999999\n1 2\n", "entries are promised"),
    ("edges", "laughs.graphml", lambda: f"<!DOCTYPE graphml [<!ENTITY l0 'ha'>{LAUGHS}]>"
        "<graphml>&l29;</graphml>".encode(), "DOCTYPE"),
    ("edges", "outside.graphml", lambda: b'<!DOCTYPE g SYSTEM "/etc/passwd"><g/>', "DOCTYPE"),
    ("edges", "deep.graphml", lambda: b"<graphml>" + b"<a>" * 5 * MILLION, "nested"),
    ("edges", "long.graphml", lambda: b'<graphml><node id="' + b"a" * 20 * MILLION, "GraphML"),
    ("edges", "wide.csv", lambda: (b"," * 200_000 + b"\n") * 2, "empty on line 1"),
    ("edges", "quote.csv", lambda: b'"' + b"a\n" * 10 * MILLION, "field limit"),
    ("edges", "line.txt", lambda: b"a" * 20 * MILLION, "field limit"),
    ("edges", "code.pkl", lambda: pickle.dumps([1]), "unknown ending"),
    ("edges", "code.pt", lambda: pickle.dumps([1]), "unknown ending"),
    ("edges", "pickle.csv", lambda: pickle.dumps(["a"] * 99, 4), "a pickle"),
    ("nodes", "pickle.npy", lambda: pickle.dumps([1, 2]), r"\.npy"),
    ("settings", "deep.toml", lambda: b"a=" + b"[\n" * 30_000, "TOML"),
    ("settings", "tables.toml", lambda: b"a=" + b"{a=" * 1300, "recursion"),
    ("settings", "dots.toml", lambda: (b".".join([b"a"] * 2000) + b"=1\n") * 16, "TOML"),
    ("settings", "line.toml", lambda: b".".join([b"a"] * 32_000) + b"=1", "4 KiB a line"),
    ("settings", "long.toml", lambda: b"a=" + b"[" * MILLION, "64 KiB"),
    ("settings", "float.toml", lambda: b"mask.p=" + b"1" * 2000, "mask.p"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("action", "name", "content", "match"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES]
)
def test_refused_in_bounds(
    reader: Child, tmp_path: Path, action: str, name: str, content: Any, match: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content())
    outcome = reader.read(action, path, timeout=2 * SECONDS)
    assert outcome.kind == "refused", outcome.text
    assert re.search(match, outcome.text), outcome.text
    assert outcome.seconds < SECONDS and outcome.megabytes < MEGABYTES


def test_wide_tables_take_no_square_of_their_columns(reader: Child, tmp_path: Path) -> None:
    path, width = tmp_path / "wide.csv", 10_000
    path.write_text("id," + ",".join(f"c{i}" for i in range(width)) + "\na" + ",1" * width + "\n")
    outcome = reader.read("nodes", path)
    assert outcome.kind == "done" and outcome.seconds < SECONDS


@pytest.mark.parametrize("ending", [".npz", ".npy"])
def test_no_pickle_runs(reader: Child, tmp_path: Path, ending: str) -> None:
    mark, path = tmp_path / "mark", tmp_path / f"a{ending}"
    objects = np.array([Evil(mark)], dtype=object)
    with path.open("wb") as file:
        (np.savez if ending == ".npz" else np.save)(file, objects)
    for action in ("edges", "nodes", "ids"):
        assert reader.read(action, path).kind == "refused"
    assert not mark.exists()
    pickle.loads(pickle.dumps(objects))
    assert mark.exists(), "the trap works"


def test_torch_files_do_not_run(reader: Child, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for name in ("a.pt", "a.csv", "a.npz", "a.npy", "a.parquet"):
        torch.save({"edge": Evil(mark)}, tmp_path / name)
        for action in ("edges", "nodes", "ids", "settings"):
            assert reader.read(action, tmp_path / name).kind == "refused"
    assert not mark.exists()
