"""Faults on writes, in short: the whole of it is ``python -m tests.harness.faults``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.faults import compiled, compiler

from maskgae import cli

compiles = pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
ROOT = Path(__file__).parents[1]


@compiles
def test_faults_leave_no_half_written_file() -> None:
    command = [sys.executable, "-m", "tests.harness.faults", "--every", "29"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 half-written files" in done.stdout


CARELESS = """
from pathlib import Path
import numpy as np
from tests.harness.faults import Faults, attacked

def in_python(folder):
    (folder / "a.txt").write_text("new " * 20000)

def in_native_code(folder):
    with (folder / "a.npy").open("wb") as file:
        np.save(file, np.arange(99999))

def safe(write):
    from maskgae.base.errors import RunError
    def call(folder):
        try:
            write(folder)
        except OSError as error:
            raise RunError(f"a.txt a.npy {error}") from None
    return call

for write in (in_python, in_native_code):
    wrong = {kind for kind, k, text in attacked(Faults(), safe(write), 1) if "neither" in text}
    assert {"full", "broken", "short_then_full"} <= wrong, wrong
"""


@compiles
def test_a_careless_writer_is_found_out(tmp_path: Path) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(compiled(tmp_path))}
    command = [sys.executable, "-c", CARELESS]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "/disk/a"), "No space left on device: '/disk/a'"),
        (MemoryError(), "there is not enough memory"),
    ],
)
def test_what_the_system_refuses_is_one_line(
    error: Exception,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as exit_code:
        cli.main()
    assert exit_code.value.code == 1
    text = capsys.readouterr().err
    assert said in text and text.count("\n") == 1
