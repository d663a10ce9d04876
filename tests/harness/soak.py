"""Fit, embed and link over and over in one process: memory stays flat and no file stays open.

    python -m tests.harness.soak [--minutes 30]

Each round fits a small graph from files, embeds it, and writes its missing links and the scores of
its edges, through the commands that a user types; rounds take turns with encoders and formats. The
resident memory after each round is read from the kernel as it is. What the last tenth of the time
holds may be at most :data:`GROWTH` above what the second tenth held; the first is for warming up.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from tests.harness.figures import keep

GROWTH = 0.05

ENCODERS = ("gcn", "sage", "gat")
FORMATS = ("parquet", "csv", "npz")


@dataclass(frozen=True)
class Sample:
    """What the process holds after a round: at which second, how much memory, how many files."""

    second: float
    megabytes: float
    files: int


def resident() -> float:
    """Resident memory of this process in MiB."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def open_files() -> int:
    """How many files this process has open, the folder that is listed for it not counted."""
    return len(os.listdir("/proc/self/fd")) - 1  # noqa: PTH208 - one handle, closed at once


def write_inputs(folder: Path) -> None:
    """A graph of 300 nodes as an edge list and a table."""
    from maskgae.datasets.generated import generate

    graph = generate(300, 1500, num_features=6, communities=3, seed=0)
    assert graph.features is not None and graph.labels is not None
    edges = [f"n{u},n{v}" for u, v in graph.pairs.T.tolist()]
    (folder / "edges.csv").write_text("source,target\n" + "\n".join(edges) + "\n")
    rows = zip(graph.features.dense().tolist(), graph.labels.tolist(), strict=True)
    table = [f"n{i}," + ",".join(map(str, row)) + f",c{c}" for i, (row, c) in enumerate(rows)]
    (folder / "nodes.csv").write_text("id,a,b,c,d,e,f,group\n" + "\n".join(table) + "\n")


def one_round(folder: Path, number: int) -> None:
    """Fits afresh, then embeds, links and scores."""
    run, ending = folder / "run", FORMATS[number % 3]
    edges, nodes = folder / "edges.csv", folder / "nodes.csv"
    table = ["--nodes", nodes, "--label", "group"] if number % 2 else []
    chosen = [f"encoder.kind={ENCODERS[number % 3]}", "training.epochs=10", f"seed={number}"]
    sets = [part for text in chosen for part in ("--set", text)]
    _command("fit", edges, *table, "--out", run, "--force", "--quiet", "--threads", 1, *sets)
    _command("embed", run, "--out", folder / f"z.{ending}", "--threads", 1)
    _command("links", run, "--out", folder / f"links.{ending}", "--threads", 1)
    _command("score", run, edges, "--out", folder / f"scores.{ending}", "--threads", 1)
    shutil.rmtree(run)


def _command(*words: object) -> None:
    from maskgae.cli import app

    app([str(word) for word in words], standalone_mode=False)


def soaked(seconds: float, folder: Path) -> list[Sample]:
    """Rounds until the time is over, each with what was held after it."""
    from maskgae.cli import screen

    write_inputs(folder)
    samples: list[Sample] = []
    start = time.monotonic()
    with Path(os.devnull).open("w") as nowhere:
        kept, screen.out.file = screen.out.file, nowhere
        try:
            while time.monotonic() - start < seconds:
                one_round(folder, len(samples))
                now = time.monotonic() - start
                samples.append(Sample(now, resident(), open_files()))
        finally:
            screen.out.file = kept
    return samples


def growth(samples: Sequence[Sample]) -> tuple[float, float]:
    """Memory in the second tenth of the time and in the last, in MiB."""
    end = samples[-1].second
    early = [s.megabytes for s in samples if 0.1 * end <= s.second <= 0.2 * end]
    late = [s.megabytes for s in samples if s.second >= 0.9 * end]
    return mean(early or [samples[0].megabytes]), mean(late)


def main() -> int:
    """Prints what was held, tenth by tenth, and the verdict; 1 where it grew."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30, help="how long (default 30)")
    parser.add_argument("--growth", type=float, default=GROWTH, help="at most (default 0.05)")
    parser.add_argument("--json", type=Path, help="keep the figures here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        samples = soaked(60 * options.minutes, Path(name))
    end, tenths = samples[-1].second, []
    for tenth in range(10):
        held = [s for s in samples if tenth * end <= 10 * s.second <= (tenth + 1) * end]
        if held:
            memory, files = mean(s.megabytes for s in held), max(s.files for s in held)
            tenths.append({"minutes": (tenth + 1) * end / 600, "megabytes": round(memory, 1)})
            print(f"to {(tenth + 1) * end / 600:5.1f} min: {memory:7.1f} MiB, {files} open files")
    before, after = growth(samples)
    left = samples[-1].files - samples[len(samples) // 10].files
    figures = {
        "rounds": len(samples),
        "seconds": round(end),
        "growth": round(after / before - 1, 4),
    }
    keep(options.json, figures | {"left_open": max(0, left), "tenths": tenths})
    print(
        f"{len(samples):,} rounds of fit, embed, links and score in {end / 60:.1f} minutes: "
        f"memory {100 * (after / before - 1):+.1f} %, {left} files left open"
    )
    return 1 if after > (1 + options.growth) * before or left > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
