"""Broken files for the readers: each gives a graph, a table or one line of refusal, in bounds.

    python -m tests.harness.fuzz [--minutes 10] [--first 0] [--only NUMBER]

Real files of every format are changed byte by byte and part by part. The number of a file decides
what it is, so ``--only NUMBER`` makes a finding again. A finding is anything but a result or an
``InputError`` of one line, or more than :data:`SECONDS` or :data:`MEGABYTES`.
"""

from __future__ import annotations

import argparse
import gzip
import io
import sys
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from tests.harness.bounded import Child, Outcome, child
from tests.harness.figures import keep

SECONDS, MEGABYTES = 5, 500

TEXTS = (".csv", ".tsv", ".txt", ".edges", ".mtx", ".graphml", ".toml")
ACTIONS = {".toml": ("settings",)}

#: Pieces that mean something to one of the formats.
TOKENS = [
    *(b",", b";", b"\t", b" ", b"\n", b"\r", b"\r\n", b'"', b'""', b"'", b"\\", b"#", b"%", b"="),
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", "é\u2028".encode(), b"\xed\xa0\x80", b"-"),
    *(b"NA", b"nan", b"inf", b"1e999", b"-1", b"0", b"0x10", b"007", b"true", b"null", b"\x1a"),
    *(b"9" * 30, b"18446744073709551616", b"-9223372036854775809", b"2147483648", b"a" * 5000),
    *(b"source", b"target", b"weight", b"id", b"<", b">", b"</", b"/>", b"<!DOCTYPE a>", b"&amp;"),
    *(b"&x;", b"<![CDATA[", b"<!--", b"<edge source='a' target='b'/>", b"<hyperedge/>", b"<data>"),
    *(b"symmetric", b"complex", b"array", b"[[", b"]]", b"{", b"mask.p=", b"[a.b]"),
]  # fmt: skip


def seeds() -> list[tuple[str, bytes]]:
    """Endings and contents of good files."""
    made: list[tuple[str, bytes]] = [
        (".csv", b"source,target,weight\na,b,1\nb,c,2.5\nc,a,1e-3\n"),
        (".csv", b'1,2\n"x, y",3\n"say ""a""","b\nc"\n'),
        (".csv", b"id,age,group,text\n1,20,a,one two\n2,,b,three\n3,31.5,a,\n4,0,b,four five\n"),
        (".csv", b"\xef\xbb\xbfid;x;y\r\na;1;0\r\nb;0;1\r\n"),
        (".tsv", b"src\tdst\nann\tbob\nbob\tcid\n"),
        (".txt", b"# a comment\n1 2\n3  4\n\n2\t3\n"),
        (".edges", b"1 2 3\n4 5 6"),
        (".mtx", b"%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n1 2 1.5\n2 3 1\n"),
        (".mtx", b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"),
        (".graphml", b'<?xml version="1.0"?><graphml><key id="w" for="edge" attr.name="weight">'
            b'<default>2</default></key><graph><node id="a"/><node id="b"/><edge source="a" '
            b'target="b"><data key="w">1</data></edge><edge source="b" target="c"/></graph>'
            b"</graphml>"),
        (".toml", b'seed = 1\n[mask]\nkind = "path"\np = 0.5\n[probe]\ngrid = [0.1, 1.0]\n'),
    ]  # fmt: skip
    matrix = sp.coo_matrix(([1.0, 2.0, 1.0], ([0, 1, 3], [1, 2, 0])), shape=(5, 5))
    made += [(".npz", _saved(_matrix_writer(matrix, form))) for form in ("csr", "csc", "coo")]
    ids = np.array(["a", "b", "c"])
    made.append((".npz", _saved(lambda file: np.savez_compressed(file, x=np.eye(3), ids=ids))))
    made.append((".npy", _saved(lambda file: np.save(file, np.eye(3)))))
    made.append((".npy", _saved(lambda file: np.save(file, ids))))
    table = pa.table({"source": ["a", "b", "a"], "target": ["b", "c", "c"], "weight": [1.0, 2, 3]})
    typed = pa.table(
        {"id": [1, 2, 3], "x": [0.5, None, 2.0], "day": pa.array([1, 2, 3], pa.date32())}
    )
    packings = ("none", "snappy", "gzip", "zstd")
    writers = [
        _parquet_writer(content, packing) for content in (table, typed) for packing in packings
    ]
    return made + [(".parquet", _saved(write)) for write in writers]


def _matrix_writer(matrix: sp.coo_matrix, form: str) -> Callable[[io.BytesIO], None]:
    return lambda file: sp.save_npz(file, matrix.asformat(form))


def _parquet_writer(table: pa.Table, packing: str) -> Callable[[io.BytesIO], None]:
    return lambda file: pq.write_table(table, file, compression=packing)


def _saved(write: Callable[[io.BytesIO], None]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def broken(number: int, good: list[tuple[str, bytes]]) -> tuple[str, bytes]:
    """The file of a number: an ending and a content."""
    random = Random(number)
    ending, content = random.choice(good)
    if ending == ".npz" and random.random() < 0.6:
        return ending, _repacked(random, content)
    if ending in TEXTS and random.random() < 0.4:
        content = _rearranged(random, content)
    content = changed(random, content, good)
    if ending in TEXTS[:6] and random.random() < 0.1:
        ending, content = f"{ending}.gz", gzip.compress(content, 1, mtime=0)
        content = changed(random, content, good) if random.random() < 0.5 else content
    return ending, content


def changed(random: Random, content: bytes, good: list[tuple[str, bytes]]) -> bytes:
    """Some bytes are others, gone, doubled or swapped for a piece of another file."""
    data = bytearray(content)
    for _ in range(random.choice([0, 1, 1, 2, 4, 16])):
        at, some = random.randrange(len(data) + 1), random.randrange(1, 30)
        kind = random.randrange(8)
        if kind == 0 and at < len(data):
            data[at] = random.randrange(256)
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif kind == 2:
            data[at:at] = random.choice(TOKENS)
        elif kind == 3:
            del data[at : at + some]
        elif kind == 4:
            data[at:at] = data[at : at + some] * random.choice([1, 2, 50])
        elif kind == 5:
            other = random.choice(good)[1]
            start = random.randrange(len(other) + 1)
            data[at : at + some] = other[start : start + some]
        elif kind == 6:
            number = random.choice([0, 1, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1])
            data[at : at + 8] = number.to_bytes(8, "little")
        else:
            data = data[:at]
    return bytes(data)


def _rearranged(random: Random, content: bytes) -> bytes:
    """Lines or cells in another order, or many times."""
    sep = random.choice([b"\n", b",", b"\t", b" ", b">"])
    parts = content.split(sep)
    kind = random.randrange(3)
    if kind == 0:
        random.shuffle(parts)
    elif kind == 1:
        parts[random.randrange(len(parts))] = random.choice(TOKENS)
    else:
        parts += parts * random.choice([1, 10, 300])
    return sep.join(parts)


def _repacked(random: Random, content: bytes) -> bytes:
    """An archive whose members are broken inside, but whose checksums fit."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        members = [(name, old.read(name)) for name in old.namelist()]
        for name, data in members:
            if random.random() < 0.1:
                continue
            if random.random() < 0.4:
                others = [(".npy", other) for _, other in members]
                data = random.choice(others)[1] if random.random() < 0.2 else data
                data = changed(random, data, others)
            packing = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
            new.writestr(zipfile.ZipInfo(name), data, packing)
    return file.getvalue()


def tried(reader: Child, number: int, good: list[tuple[str, bytes]], folder: Path) -> list[Outcome]:
    """What every reader makes of the file of a number."""
    ending, content = broken(number, good)
    path = folder / f"file{ending}"
    path.write_bytes(content)
    actions = ACTIONS.get(ending, ("edges", "nodes"))
    if zlib.crc32(content) % 8 == 0 and ending in (".npy", ".txt", ".csv"):
        actions = ("ids",)
    return [reader.read(action, path, timeout=4 * SECONDS) for action in actions]


def is_finding(outcome: Outcome) -> bool:
    """Whether an outcome is one that must not be."""
    too_much = outcome.seconds > SECONDS or outcome.megabytes > MEGABYTES
    return not outcome.is_fine or too_much


def main() -> int:
    """Prints every finding and a count at the end; 1 where there was any."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10, help="how long (default 10)")
    parser.add_argument("--first", type=int, default=0, help="the first number (default 0)")
    parser.add_argument("--only", type=int, help="this number alone")
    parser.add_argument("--json", type=Path, help="keep the figures here")
    options = parser.parse_args()
    good, counts, findings = seeds(), Counter[str](), 0
    end = time.monotonic() + 60 * options.minutes
    number = options.first if options.only is None else options.only
    with child() as reader, tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            for outcome in tried(reader, number, good, Path(folder)):
                counts[outcome.kind] += 1
                if is_finding(outcome):
                    findings += 1
                    print(f"{number} {broken(number, good)[0]}: {outcome}", flush=True)
            number += 1
            if options.only is not None:
                break
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counts.items()))
    files = number - (options.first if options.only is None else options.only)
    figures = {"files": files, "readings": counts.total(), "findings": findings}
    keep(options.json, figures | {"seconds": round(60 * options.minutes)})
    print(f"{files:,} files, {counts.total():,} readings ({kinds}): {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
