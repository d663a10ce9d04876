"""What the crash harness plays: small commands that train, save, ingest and write.

Everything that they import is imported here, so a fork begins at once.
"""

from __future__ import annotations

import csv
import json
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from maskgae.base.jsonl import read_lines
from maskgae.base.replace import begun
from maskgae.base.tensors import read_tensors
from maskgae.cli import main
from maskgae.datasets.generated import generate
from maskgae.lab import Records, make_cell, run_missing, runner
from maskgae.run import Run
from maskgae.store.store import open_store
from maskgae.training import Checkpoints

#: What the commands would import themselves, and late.
LATE = ("estimator", "base.lock", "run.page", "report.page")
LIBRARIES = ("torch._dynamo", "sklearn.manifold", "sklearn.linear_model", "plotly.offline")
for name in (*(f"maskgae.{part}" for part in LATE), *LIBRARIES):
    import_module(name)


@dataclass(frozen=True)
class Scene:
    """A command: from a folder with input into another one, the first time or again.

    Args:
        before: makes what it replaces, which must stay readable until the new one is.
        readable: reads what is in the folder whatever happened.
    """

    name: str
    play: Callable[[Path, Path, bool], None]
    before: Callable[[Path, Path, bool], None] | None = None
    readable: Callable[[Path], object] = lambda folder: None


def prepare(folder: Path) -> None:
    """Writes a small graph with a table of nodes."""
    graph = generate(90, 300, num_features=4, communities=3, seed=3)
    edges = "\n".join(f"n{u},n{v}" for u, v in graph.pairs.T.tolist())
    (folder / "edges.csv").write_text(f"source,target\n{edges}\n")
    assert graph.features is not None and graph.labels is not None
    rows = zip(graph.features.dense().tolist(), graph.labels.tolist(), strict=True)
    lines = (f"n{i},{','.join(f'{x:.4f}' for x in row)},c{c}" for i, (row, c) in enumerate(rows))
    (folder / "nodes.csv").write_text("id,a,b,c,d,group\n" + "\n".join(lines) + "\n")


def fit(*options: str) -> Callable[..., None]:
    """``maskgae fit`` with some options."""

    def play(folder: Path, out: Path, resume: bool, *more: str) -> None:
        table = ["--nodes", str(folder / "nodes.csv"), "--label", "group"]
        given = ["fit", str(folder / "edges.csv"), *table, "--out", str(out), *options, *more]
        sys.argv = ["maskgae", *given, "--threads", "1", "--quiet", *(["--resume"] * resume)]
        main()

    return play


def every_step(play: Callable[[Path, Path, bool], None]) -> Callable[[Path, Path, bool], None]:
    """The same with a checkpoint before every step, inside epochs too."""

    def saving(folder: Path, out: Path, resume: bool) -> None:
        Checkpoints.wanted = lambda self, epoch, step: True  # type: ignore[method-assign]
        play(folder, out, resume)

    return saving


def ingest(folder: Path, out: Path, resume: bool) -> None:
    """``maskgae ingest``, which goes on by itself and refuses what is a store already."""
    whole = (out / "manifest.json").exists()
    table = ["--nodes", str(folder / "nodes.csv"), "--label", "group"]
    sys.argv = ["maskgae", "ingest", str(folder / "edges.csv"), *table, "--out", str(out)]
    try:
        main()
    except SystemExit as end:
        if end.code and not whole:
            raise


def forced(play: Callable[..., None]) -> Callable[[Path, Path, bool], None]:
    """A fit over another run: with ``--resume`` once the new one is begun."""

    def replacing(folder: Path, out: Path, resume: bool) -> None:
        play(folder, out, begun(out), *([] if begun(out) else ["--force"]))

    return replacing


def ingest_again(folder: Path, out: Path, resume: bool) -> None:
    """``maskgae ingest --force`` without the table that the old store was made with."""
    sys.argv = ["maskgae", "ingest", str(folder / "edges.csv"), "--out", str(out), "--force"]
    main()


def records(folder: Path, out: Path, resume: bool) -> None:
    """The runner's records of two cells, on a graph in the place of a dataset."""
    graph = generate(90, 300, num_features=4, communities=3, seed=3)
    runner.cached_dataset = lambda name: graph
    small = {"training.epochs": 4, "encoder.hidden": 16, "encoder.dim": 16}
    cells = [make_cell(task, "imports", overrides=small) for task in ("link", "node")]
    for _ in run_missing([(cell, seed) for cell in cells for seed in range(3)], Records(out)):
        pass


QUICK = ("--set", "training.eval_every=5", "--set", "training.patience=0")
LONG = ("--set", "training.epochs=200")
LAST = ("--set", "training.select=last")  # weights that know every step
SHORT = ("--set", "training.epochs=2", "--checkpoint-every", "1")
BLOCKS = ("--set", "training.fanouts=[5, 5]", "--set", "training.batch_pairs=100")
VECTORS = ("--set", "encoder.node_embedding=256", "--set", "training.average=0.9")

SCENES = (
    Scene(
        "training", fit(*QUICK, *LAST, "--set", "training.epochs=200", "--checkpoint-every", "9")
    ),
    Scene("checkpointing", every_step(fit(*QUICK, *VECTORS, "--set", "training.epochs=30"))),
    Scene("batches", every_step(fit(*QUICK, *LAST, *BLOCKS, "--set", "training.epochs=8"))),
    Scene("ingesting", ingest),
    Scene("results", fit("--set", "training.epochs=2")),
    Scene("replacing", forced(fit(*SHORT)), fit(*SHORT, "--seed", "1"), Run.load),
    Scene("ingesting again", ingest_again, ingest, lambda out: open_store(out).verify()),
    Scene("records", records),
)

READERS: dict[str, Callable[[Path], object]] = {
    ".safetensors": read_tensors,
    ".parquet": pq.read_table,
    ".npy": lambda path: np.load(path).sum(),
    ".npz": lambda path: {name: array.sum() for name, array in np.load(path).items()},
    ".json": lambda path: json.loads(path.read_text()),
    ".jsonl": read_lines,
    ".toml": lambda path: tomllib.loads(path.read_text()),
    ".csv": lambda path: list(csv.DictReader(path.read_text().splitlines(), strict=True)),
    ".html": lambda path: path.read_text().index("</html>"),
}


def check_readable(folder: Path) -> None:
    """Reads every file that has a final name."""
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            READERS[path.suffix](path)
