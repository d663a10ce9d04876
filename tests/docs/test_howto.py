"""What the how-tos show runs as it is written, block by block."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs" / "howto").glob("*.md"))
#: The commands of this environment, by the names that the pages use.
COMMANDS = """set -e
maskgae() { "$PYTHON" -m maskgae "$@"; }
torchrun() { "$PYTHON" -m torch.distributed.run "$@"; }
"""


def run(command: list[str], folder: Path) -> None:
    environment = os.environ | {"PYTHON": sys.executable}
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_how_tos_run(page: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"^```(python|bash)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    python = "\n".join(text for language, text in blocks if language == "python")
    shell = "\n".join(text for language, text in blocks if language == "bash")
    if python:
        run([sys.executable, "-W", "error::UserWarning", "-c", python], tmp_path)
    if shell:
        run(["bash", "-c", COMMANDS + shell], tmp_path)
    assert blocks or page.stem == "index"
