"""Every example runs as it is written, and so does the README's Python."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# PyG calls what torch deprecates when it is imported.
STRICT = ("-W", "error", "-W", "ignore::DeprecationWarning")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path: Path, tmp_path: Path) -> None:
    command = [sys.executable, *STRICT, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert result.returncode == 0, result.stderr
    assert result.stdout


@pytest.mark.parametrize(
    ("page", "printed"), [("README.md", "(77, 32)"), ("docs/architecture.md", "0.")]
)
def test_the_pages_python_runs(page: str, printed: str, tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    command = [sys.executable, *STRICT, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert result.returncode == 0, result.stderr
    assert printed in result.stdout
