"""Faults on writes: every k-th call fails, and what is left under a final name is whole.

    python -m tests.harness.faults [--every 1]

A small library (``faults.c``) stands between the process and the kernel, so that what pyarrow,
NumPy and safetensors write in native code fails too. Everything that the package writes is written
once for every call that it makes and every kind of fault, over an earlier result and afresh:

full              no space is left, and none comes
broken            one call fails with an input/output error
short             one write takes half of its bytes, and the next goes on
short_then_full   one write takes half of its bytes, then no space is left

Afterwards each file has its old content or its whole new one, no temporary file stays, the error,
if there is one, is one line that names the file, and the same command without a fault mends it.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.harness.figures import keep

from maskgae.base.replace import ASIDE

SOURCE = Path(__file__).with_name("faults.c")
COUNT, KINDS = 0, {"full": 1, "broken": 2, "short": 3, "short_then_full": 4}

#: What is never written over something else.
STORE, RECORDS = "store", "records"

#: What is no result: the lock of a process, what an ingest that was stopped goes on from, and what
#: is not yet in its place.
PASSING = {".lock", ".work", *ASIDE}

Writer = Callable[[Path], None]


def compiler() -> str | None:
    """The C compiler of this machine, if it has one."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def compiled(folder: Path) -> Path:
    """The library, made from its source."""
    found = compiler()
    assert found is not None
    library = folder / "faults.so"
    command = [found, "-shared", "-fPIC", "-O1", "-w", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return library


class Faults:
    """The library that was preloaded into this process."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None)
        self.library.faults_calls.restype = ctypes.c_long
        self.library.faults_failed.restype = ctypes.c_long

    def run(self, write: Writer, folder: Path, kind: int, k: int) -> tuple[int, int, str]:
        """Writes with the k-th call failing: how many were made, how many failed, what was said."""
        from maskgae.base.errors import InputError, RunError

        said = ""
        self.library.faults_arm(str(folder).encode(), kind, ctypes.c_long(k))
        try:
            write(folder)
        except (InputError, RunError) as error:
            said = str(error)
        finally:
            self.library.faults_disarm()
        return self.library.faults_calls(), self.library.faults_failed(), said


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    files = (path for path in files if not PASSING & {*path.parts})
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def attacked(
    faults: Faults, write: Writer, every: int, *, replaces: bool = True
) -> Iterator[tuple[str, int, str]]:
    """Kind and number of each fault that was injected, and what was wrong afterwards ("")."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "out"
        folder.mkdir()
        calls, _, said = faults.run(write, folder, COUNT, 0)
        assert said == "", said
        new = content(folder)
        # Where there is nothing, and over an earlier result where that may be replaced.
        earlier = {file: b"old " + data[:50] for file, data in new.items()}
        for old in ({}, earlier) if replaces else ({},):
            for kind, number in KINDS.items():
                for k in range(1, calls + 1, every):
                    _restore(folder, old)
                    _, failed, said = faults.run(write, folder, number, k)
                    if failed:
                        _read(folder)
                        wrong = _wrong(said, content(folder), old, new)
                        yield kind, k, wrong or _not_mended(write, folder, said, new)


def _read(folder: Path) -> None:
    """Begins to read the folder as a run, which finishes what was cut off."""
    from maskgae.base.replace import settled
    from maskgae.run.folder import WHOLE

    settled(folder, WHOLE)


def _restore(folder: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _wrong(said: str, found: dict[str, bytes], old: dict[str, bytes], new: dict[str, bytes]) -> str:
    """What breaks the rules, or nothing."""
    for name, data in found.items():
        if name not in new:
            return f"{name} was left behind"
        if data not in (old.get(name), new[name]):
            return f"{name} is neither the old file nor the new one"
    if lost := old.keys() - found.keys():
        return f"{sorted(lost)} are gone"
    if not said:
        return "" if found == new else "nothing was said, and not everything is written"
    names = {part for name in new for part in Path(name).parts}  # a folder could not be made
    if "\n" in said or not any(name in said for name in {*names, *PASSING, "/out "}):
        return f"the error is not one line that names the file: {said!r}"
    return ""


def _not_mended(write: Writer, folder: Path, said: str, new: dict[str, bytes]) -> str:
    """What is still wrong after the same command without a fault, or nothing."""
    if said:
        write(folder)
    return "" if content(folder) == new else "writing again does not mend it"


def writers() -> dict[str, Writer]:
    """Everything that the package writes, by name."""
    import numpy as np
    import torch

    from maskgae.base.files import write_json, write_text
    from maskgae.base.rng import Stream
    from maskgae.base.settings import Settings
    from maskgae.base.tensors import write_tensors
    from maskgae.datasets.generated import generate
    from maskgae.report.page import render
    from maskgae.run import Source, fit
    from maskgae.run.files import write_embeddings, write_run
    from maskgae.run.page import report_data

    torch.set_num_threads(1)
    graph = replace(generate(50, 150, num_features=5, seed=0), labels=None)
    settings = Settings().updated({"training.epochs": 1, "encoder.hidden": 8, "encoder.dim": 8})
    ids = np.array([f"node {i}" for i in range(50)], dtype=object)
    run = fit(Source(graph, ids), settings)
    page = render(report_data(run), Stream(0, ("report",)))
    made: dict[str, Writer] = {
        "run folder": lambda folder: write_run(run, folder),
        "run replaced": run.save,
        "record": lambda folder: write_json(folder / "record.json", run.record),
        RECORDS: _records_writer(),
        "checkpoint": lambda folder: write_tensors(
            folder / "epoch-000001.safetensors", run.net.state_dict(), {"epoch": 1}
        ),
        "page": lambda folder: write_text(folder / "report.html", page),  # as write_page ends
        STORE: _store_writer(graph),
    }
    for ending in ("parquet", "csv", "tsv", "npz", "npy"):
        made[f"embedding .{ending}"] = _embedding_writer(write_embeddings, ending, ids, run)
    return made


def _store_writer(graph: Any) -> Writer:
    """Ingests an edge list that lies elsewhere."""
    from maskgae.store.ingest import ingest

    edges = Path(tempfile.mkdtemp()) / "edges.csv"
    atexit.register(shutil.rmtree, edges.parent)
    edges.write_text("".join(f"{u},{v}\n" for u, v in graph.pairs.T.tolist()))
    return lambda folder: ingest(edges, folder) and None


def _records_writer() -> Writer:
    """Appends the first run of a table."""
    from maskgae.lab import Outcome, Records, make_cell

    cell, run = make_cell("link", "imports"), Outcome(0, {"auc": 0.5}, {}, {})
    return lambda folder: Records(folder).save(cell, run)


def _embedding_writer(write: Any, ending: str, ids: Any, fit: Any) -> Writer:
    return lambda folder: write(folder / f"z.{ending}", ids, fit.embedding)


def main() -> int:
    """Prints a line for each thing that is written; 1 where anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--every", type=int, default=1, help="only every n-th call (default 1)")
    parser.add_argument("--json", type=Path, help="keep the figures here")
    options = parser.parse_args()
    if os.environ.get("LD_PRELOAD", "").rpartition("/")[2] != "faults.so":
        if compiler() is None:
            print("skipped: there is no C compiler on this machine")
            return 0
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "LD_PRELOAD": str(compiled(Path(folder)))}
            command = [sys.executable, "-m", "tests.harness.faults", *sys.argv[1:]]
            return subprocess.run(command, env=environment).returncode
    faults, total, findings = Faults(), 0, 0
    for name, write in writers().items():
        tried: Counter[str] = Counter()
        replaces = name not in (STORE, RECORDS)
        for kind, k, wrong in attacked(faults, write, options.every, replaces=replaces):
            tried[kind] += 1
            if wrong:
                findings += 1
                print(f"  {name}, {kind} at call {k}: {wrong}", flush=True)
        total += tried.total()
        print(f"{name}: " + ", ".join(f"{kind} {n}" for kind, n in tried.items()), flush=True)
    keep(options.json, {"faults": total, "findings": findings})
    print(f"{total:,} faults injected, {findings} half-written files or unclear errors")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
