"""Commands in forks of a process that has imported everything: what came of each, in bounds.

A command that is started afresh spends seconds on imports; a fork spends milliseconds. Standard
output and error, the exit code, processor time and the highest resident memory are taken, and
limits are set in the fork: what hangs is ended and what wants too much memory is refused it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

#: What the commands would import themselves, and late.
LATE = (
    *(f"maskgae.cli.{name}" for name in ("own", "ask", "ingest", "show", "progress")),
    *(f"maskgae.lab.cli.{name}" for name in ("demo", "evaluate", "reproduce", "tune", "analyze")),
    *(f"maskgae.lab.cli.{name}" for name in ("ablate", "settings", "contest")),
    *("maskgae.estimator", "maskgae.run.page", "maskgae.report.page", "maskgae.lab.suites"),
    *("maskgae.lab.analysis", "maskgae.store.ingest", "maskgae.datasets.generated_store"),
    *("torch._dynamo", "sklearn.manifold", "sklearn.linear_model", "plotly.offline"),
    *("scipy.sparse.linalg", "pyarrow.parquet", "pyarrow.csv", "networkx", "threadpoolctl"),
    *("typer._adapters", "rich._emoji_codes", "pyarrow.dataset", "pyarrow.pandas_compat"),
    *("encodings.utf_8_sig", "encodings.unicode_escape", "numba"),
)

#: What ends a command that hangs: its processor time, or this many times as long by the clock, so
#: that the load of the machine is no finding.
HUNG, PATIENCE = (signal.SIGPROF, signal.SIGALRM), 10


@dataclass(frozen=True)
class Call:
    """A command line and what surrounds it.

    Args:
        words: what follows ``maskgae``.
        folder: the working directory.
        environment: variables that are set; ``None`` removes one.
        seconds: of processor time after which it counts as hung.
        memory: bytes of address space beyond what the imports take, or ``None`` for no limit.
        still: whether clocks stand still, so that equal runs write equal files.
    """

    words: tuple[str, ...]
    folder: str = "."
    environment: Mapping[str, str | None] = field(default_factory=dict)
    seconds: float = 60
    memory: int | None = None
    still: bool = False


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Args:
        code: its exit code, negative for the signal that ended it.
        output: what it wrote to standard output.
        errors: what it wrote to standard error.
        seconds: processor time.
        megabytes: the highest resident memory beyond that of the imports.
    """

    code: int
    output: str
    errors: str
    seconds: float
    megabytes: float

    @property
    def wrong(self) -> str:
        """What no command may do: a traceback, a warning, a death, an error of several lines."""
        said = self.output + self.errors
        if -self.code in HUNG:
            return "hung"
        if self.code < 0:
            return f"died of signal {-self.code}"
        if "Traceback (most recent call last)" in said:
            return "a traceback"
        if "Warning:" in self.errors:
            return "a warning"
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        lines = self.errors.splitlines()
        told = sum(line.startswith("error: ") for line in lines)
        if self.code and not (told == 1 and lines[-1].startswith("error: ")) and not usage(said):
            return "no error of one line"
        return ""


def usage(said: str) -> bool:
    """Whether the parser has refused a command line, or shown its help for an empty one."""
    return "Usage:" in "".join(said.split())  # a terminal may be one column wide


def warm_up() -> None:
    """Imports all that commands need, on one thread."""
    from importlib import import_module

    import torch

    torch.set_num_threads(1)
    for name in LATE:
        with suppress(ImportError):  # what another version of a library has no more
            import_module(name)


def call(asked: Call) -> Ended:
    """Runs a command in a fork of this process."""
    return forked(lambda: _command(asked), asked)


def forked(action: Callable[[], None], asked: Call) -> Ended:
    """Runs an action under the limits of a call."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        number = os.fork()
        if not number:
            _in_fork(action, asked, output.fileno(), errors.fileno())
        _, status, used = os.wait4(number, 0)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read(1 << 20).decode(errors="replace"))
    seconds = round(used.ru_utime + used.ru_stime, 3)
    code = os.waitstatus_to_exitcode(status)
    return Ended(code, *texts, seconds, round(used.ru_maxrss / 1024 - _idle(), 1))


@lru_cache(maxsize=1)
def _idle() -> float:
    """The highest resident memory of a fork that does nothing, in MiB."""
    number = os.fork()
    if not number:
        os._exit(0)
    return os.wait4(number, 0)[2].ru_maxrss / 1024


def _in_fork(action: Callable[[], None], asked: Call, output: int, errors: int) -> None:
    code = 70
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        for here, there in ((nothing, 0), (output, 1), (errors, 2)):
            os.dup2(here, there)
        _limit(asked)
        if asked.still:
            stop_clocks()
        action()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)


def stop_clocks() -> None:
    """Lets times and peaks of memory be the same in every run."""
    from maskgae.evaluation import outcome

    time.perf_counter = lambda: 0.0
    outcome._peak_kib = lambda: 0.0


def _limit(asked: Call) -> None:
    for number in HUNG:
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, asked.seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * asked.seconds)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(asked.folder)
    for name, value in asked.environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if asked.memory is not None:
        limit = int(_status("VmSize") * 2**20) + asked.memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _command(asked: Call) -> None:
    from maskgae.cli import main

    sys.argv = ["maskgae", *asked.words]
    main()


def _status(name: str) -> float:
    """A line of /proc/self/status, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(name)


class Warm:
    """A process that has imported everything, and runs commands in forks of itself.

    Args:
        environment: variables that it is started with.
    """

    def __init__(self, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.calls"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            env=os.environ | environment,
        )

    def __call__(self, *words: object, **more: Any) -> Ended:
        """How a command ended; see :class:`Call` for what else can be said."""
        asked = asdict(Call(tuple(str(word) for word in words), **more))
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        self.process.stdin.flush()
        return Ended(**json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def warm(**environment: str) -> Iterator[Warm]:
    """A warm process that is gone afterwards."""
    process = Warm(**environment)
    try:
        yield process
    finally:
        process.close()


def main() -> None:
    """Answers questions until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # so that nothing that is imported can speak in between
    warm_up()
    for line in sys.stdin:
        asked = json.loads(line)
        ended = call(Call(**asked | {"words": tuple(asked["words"])}))
        answers.write(json.dumps(asdict(ended)) + "\n")
        answers.flush()
    os._exit(0)  # taking apart all that was imported lasts for seconds


if __name__ == "__main__":
    main()
