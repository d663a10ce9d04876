"""Broken files for the readers, in short; ``make fuzz`` goes on for ten minutes."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.bounded import child
from tests.harness.fuzz import broken, is_finding, seeds, tried


def test_the_number_of_a_file_decides_what_it_is() -> None:
    assert [broken(i, seeds()) for i in range(50)] == [broken(i, seeds()) for i in range(50)]


def test_good_files_are_read_and_broken_ones_are_refused(tmp_path: Path) -> None:
    good = seeds()
    with child() as reader:
        for ending, content in good:
            path = tmp_path / f"good{ending}"
            path.write_bytes(content)
            actions = ("settings",) if ending == ".toml" else ("edges", "nodes", "ids")
            kinds = [reader.read(action, path).kind for action in actions]
            assert "done" in kinds and "failed" not in kinds, (ending, kinds)
        for number in range(300):
            for outcome in tried(reader, number, good, tmp_path):
                assert not is_finding(outcome), (number, outcome)


@pytest.mark.slow
@pytest.mark.parametrize("harness", ["folders --minutes 1", "commands --calls 100"])
def test_odd_folders_and_commands_are_opened_or_refused(harness: str) -> None:
    command = [sys.executable, "-m", *f"tests.harness.{harness}".split()]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
