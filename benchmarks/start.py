"""How soon the package is ready: ``python -m benchmarks.start``.

Each statement runs in processes of its own; its processor time is the least of several, as a
multiple of what ``import torch`` takes alone. Beside it stand the packages that it loads of those
that most users never need.
"""

from __future__ import annotations

import json
import subprocess
import sys
from tempfile import TemporaryDirectory

#: Packages that are loaded no earlier than somebody needs them.
HEAVY = ("maskgae.lab", "ogb", "torch_geometric", "plotly", "networkx", "pandas")
#: Shown beside them, since they take much of the time.
SHOWN = ("torch", "sklearn", "scipy", "pyarrow", *HEAVY)

COMMAND = "import sys; sys.argv = {words!r}; from maskgae.cli import main; main()"
STATEMENTS = {
    "import torch": "import torch",
    "import sklearn.base": "import sklearn.base",
    "from maskgae import MaskGAE": "from maskgae import MaskGAE",
    "import maskgae.training": "import maskgae.training",
    "import maskgae.run": "import maskgae.run",
} | {
    " ".join(words): COMMAND.format(words=words)
    for words in (
        ["maskgae", "--help"],
        ["maskgae", "--version"],
        ["maskgae", "fit", "missing.csv", "--out", "x"],
    )
}

#: Told at the end of the process, however the statement ends.
TELL = """
import atexit, json, sys, time
def tell():
    spent = time.process_time()
    print(json.dumps({"seconds": spent, "loaded": [n for n in %r if n in sys.modules]}))
atexit.register(tell)
"""


def run(statement: str, watched: tuple[str, ...] = SHOWN) -> tuple[float, list[str]]:
    """Processor seconds of a new process that runs a statement, and what it has loaded."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", TELL % (watched,) + statement]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    told = json.loads(ended.stdout.splitlines()[-1])
    return told["seconds"], told["loaded"]


def main(repeats: int = 5) -> None:
    """Measures all statements in turn, so that a busy machine slows all of them."""
    seconds: dict[str, float] = {}
    loaded: dict[str, list[str]] = {}
    for _ in range(repeats):
        for name, statement in STATEMENTS.items():
            spent, loaded[name] = run(statement)
            seconds[name] = min(spent, seconds.get(name, spent))
    for name, spent in seconds.items():
        ratio = spent / seconds["import torch"]
        print(f"{name:<34} {spent:5.2f} s {ratio:5.2f}  {', '.join(loaded[name])}")


if __name__ == "__main__":
    main()
