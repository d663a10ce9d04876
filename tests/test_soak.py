"""Rounds of commands in one process, in short; ``make soak`` goes on for half an hour."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.soak import Sample, growth


@pytest.mark.slow
def test_memory_is_flat_and_no_file_stays_open() -> None:
    # In a process of its own: what earlier tests hold would hide what these rounds take. So short
    # a run sees rounds of one encoder or another in its tenths, which differ by a few per cent.
    command = [sys.executable, "-m", "tests.harness.soak", "--minutes", "0.35", "--growth", "0.1"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 files left open" in done.stdout


def test_growth_compares_the_second_tenth_with_the_last() -> None:
    samples = [Sample(second, 100 + (second >= 90) * 10, 5) for second in range(1, 101)]
    samples[0] = Sample(1, 900, 5)  # warming up counts for nothing
    assert growth(samples) == (100, 110)
