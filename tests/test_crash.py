"""Kills at random moments, in short: the whole of it is ``make crash-test``."""

import subprocess
import sys
from pathlib import Path


def test_what_was_killed_ends_as_if_nothing_had_happened() -> None:
    names = ("checkpointing", "replacing", "ingesting again", "records")
    scenes = [word for name in names for word in ("--scene", name)]
    command = [sys.executable, "-m", "tests.harness.crash", "--kills", "9", *scenes]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n9 kills" in done.stdout and " 0 files differ, 0 unreadable" in done.stdout
