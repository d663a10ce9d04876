"""Reading in a child process with limits: what came of it, how long it took, how much it held.

The child imports everything once and then reads one file after another, so a question costs what
the reading costs. Its address space is limited; should it die or hang, that is an outcome too, and
the next question starts another.
"""

from __future__ import annotations

import json
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Bytes of address space beyond what the child has after its imports.
MEMORY = 3 << 30


@dataclass(frozen=True)
class Outcome:
    """What a reading did.

    Args:
        kind: ``done``, ``refused`` (an InputError of one line), ``failed`` (anything else that
            was raised), ``died`` or ``hung``.
        text: the error's message, or the end of its traceback.
        seconds: the processor time that it took, which other work on the machine does not change.
        megabytes: by how much the child's resident memory had grown at its highest.
    """

    kind: str
    text: str
    seconds: float
    megabytes: float

    @property
    def is_fine(self) -> bool:
        return self.kind in ("done", "refused")


class Child:
    """A process that reads files."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def read(self, action: str, path: Path, timeout: float = 60) -> Outcome:
        """Asks for one of :data:`ACTIONS`."""
        process = self.process = self.process or _started()
        assert process.stdin is not None and process.stdout is not None
        start = time.perf_counter()
        try:
            process.stdin.write(json.dumps([action, str(path)]).encode() + b"\n")
            process.stdin.flush()
            if not select.select([process.stdout], [], [], timeout)[0]:
                return self._lost("hung", start)
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        return Outcome(**json.loads(answer)) if answer else self._lost("died", start)

    def _lost(self, kind: str, start: float) -> Outcome:
        assert self.process is not None
        self.process.kill()
        code = self.close()
        return Outcome(kind, f"exit code {code}", time.perf_counter() - start, 0.0)

    def close(self) -> int:
        """Ends the process."""
        if self.process is None:
            return 0
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait()
        self.process.stdout.close()
        self.process = None
        return code


@contextmanager
def child() -> Iterator[Child]:
    """A child that is gone afterwards."""
    process = Child()
    try:
        yield process
    finally:
        process.close()


def _started() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.harness.bounded"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def _edges(path: Path) -> None:
    from maskgae.io import build_graph, read_edges

    build_graph(read_edges(path))


def _nodes(path: Path) -> None:
    from maskgae.io import TableEncoder, fit_encoder, read_nodes

    table = read_nodes(path)
    encoder = fit_encoder(table, missing="mean")
    encoder.transform(table)
    TableEncoder.from_json(encoder.to_json())


def _ids(path: Path) -> None:
    from maskgae.io import read_ids

    read_ids(path)


def _settings(path: Path) -> None:
    from maskgae.base.settings import Settings
    from maskgae.base.settings_text import read_toml

    Settings().updated(read_toml(path))


def _ingest(path: Path) -> None:
    from maskgae.store.ingest import ingest

    with tempfile.TemporaryDirectory() as folder:
        store = ingest(path, Path(folder) / "store")
        store.verify()


def _store(path: Path) -> None:
    from maskgae.base.settings import Settings
    from maskgae.nn.network import MaskGAENet
    from maskgae.store.store import open_store

    store = open_store(path)
    graph, _ = store.graph, store.ids
    settings = Settings().updated({"encoder.hidden": 4, "encoder.dim": 4})
    MaskGAENet.for_graph(graph, settings).embed(graph)


def _run(path: Path) -> None:
    from maskgae.run import Run
    from maskgae.run.page import report_data

    report_data(Run.load(path))


#: What can be asked for.
ACTIONS: dict[str, Callable[[Path], None]] = {
    "edges": _edges,
    "nodes": _nodes,
    "ids": _ids,
    "settings": _settings,
    "run": _run,
    "ingest": _ingest,
    "store": _store,
}


def measured(action: str, path: Path) -> Outcome:
    """Reads a file in this process."""
    from maskgae.base.errors import InputError

    before, start = _resident("VmRSS"), time.process_time()
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark falls to the present
    kind, text = "done", ""
    try:
        ACTIONS[action](path)
    except InputError as error:
        text = str(error)
        kind = "refused" if "\n" not in text and len(text) < 1000 else "failed"
    except Exception:
        kind, text = "failed", traceback.format_exc()[-1500:]
    seconds = time.process_time() - start
    return Outcome(kind, text, round(seconds, 4), round(_resident("VmHWM") - before, 1))


def _resident(name: str) -> float:
    """A line of /proc/self/status, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise LookupError(name)


def main() -> None:
    """Answers questions until there are no more."""
    import torch

    import maskgae.run.files
    import maskgae.run.page  # noqa: F401

    torch.set_num_threads(1)
    warnings.simplefilter("error")  # no user should see one
    limit = int(_resident("VmSize") * 2**20) + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers: Any = sys.stdout
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        action, path = json.loads(line)
        answers.write(json.dumps(vars(measured(action, Path(path)))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
