"""What the crash harness plays: small commands that train, save, ingest and write.

Everything that they import is imported here, so a fork begins at once.
"""

from __future__ import annotations

import csv
import json
import sys
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from tests.harness.calls import warm_up

from maskgae.base.jsonl import read_lines
from maskgae.base.replace import begun
from maskgae.base.tensors import read_tensors
from maskgae.cli import main
from maskgae.datasets.generated import generate
from maskgae.lab import Records, make_cell, run_missing, runner
from maskgae.run import Run
from maskgae.store.store import open_store
from maskgae.training import Checkpoints

warm_up()


@dataclass(frozen=True)
class Scene:
    """A command: from a folder with input into another one, the first time or again.

    Args:
        before: makes what it replaces, which must stay readable until the new one is.
        readable: reads what is in the folder whatever happened.
        appends: whether it writes records, among which the lock of the dead may stay.
        leaves: whether it writes single files, beside which the temporary ones of the dead stay.
    """

    name: str
    play: Callable[[Path, Path, bool], None]
    before: Callable[[Path, Path, bool], None] | None = None
    readable: Callable[[Path], object] = lambda folder: None
    appends: bool = False
    leaves: bool = False


def prepare(folder: Path) -> None:
    """Writes a small graph with a table of nodes."""
    graph = generate(90, 300, num_features=4, communities=3, seed=3)
    edges = "\n".join(f"n{u},n{v}" for u, v in graph.pairs.T.tolist())
    (folder / "edges.csv").write_text(f"source,target\n{edges}\n")
    years = "\n".join(f"n{u},n{v},{1990 + (u + v) % 30}" for u, v in graph.pairs.T.tolist())
    (folder / "times.csv").write_text(f"source,target,year\n{years}\n")
    assert graph.features is not None and graph.labels is not None
    rows = zip(graph.features.dense().tolist(), graph.labels.tolist(), strict=True)
    lines = (f"n{i},{','.join(f'{x:.4f}' for x in row)},c{c}" for i, (row, c) in enumerate(rows))
    (folder / "nodes.csv").write_text("id,a,b,c,d,group\n" + "\n".join(lines) + "\n")


def fit(*options: str, edges: str = "edges.csv") -> Callable[..., None]:
    """``maskgae fit`` with some options."""

    def play(folder: Path, out: Path, resume: bool, *more: str) -> None:
        table = ["--nodes", str(folder / "nodes.csv"), "--label", "group"]
        given = ["fit", str(folder / edges), *table, "--out", str(out), *options, *more]
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


def commands(*texts: str) -> Callable[[Path, Path, bool], None]:
    """Commands one after the other; ``OUT`` and ``IN`` are the folders of results and input."""

    def play(folder: Path, out: Path, resume: bool) -> None:
        out.mkdir(exist_ok=True)
        for text in texts:
            words = text.replace("OUT", str(out)).replace("IN", str(folder)).split()
            command(*words)

    return play


def command(*words: str) -> None:
    """A command that must succeed."""
    sys.argv = ["maskgae", *words]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


def of_run(*texts: str) -> Callable[[Path, Path, bool], None]:
    """The same beside a run, ``IN/run``, which is fitted where it is not there yet."""
    play = commands(*texts)

    def after_fit(folder: Path, out: Path, resume: bool) -> None:
        if not (folder / "run").exists():
            play_fit = fit("--set", "training.epochs=2")
            with suppress(SystemExit):
                play_fit(folder, folder / "run", False)
        play(folder, out, resume)

    return after_fit


def page(folder: Path, out: Path, resume: bool) -> None:
    """``maskgae report``, over a page that somebody has changed."""
    command("report", str(out), "--threads", "1")


def run_with_another_page(folder: Path, out: Path, resume: bool) -> None:
    with suppress(SystemExit):
        fit("--set", "training.epochs=2")(folder, out, False)
    (out / "report.html").write_text("<html>another page</html>")


def generating(folder: Path, out: Path, resume: bool) -> None:
    """``maskgae ingest --generate``, which refuses what is a store already."""
    whole = (out / "manifest.json").exists()
    request = "nodes=300,pairs=900,features=4,communities=3"
    sys.argv = ["maskgae", "ingest", "--generate", request, "--out", str(out), "--quiet"]
    try:
        main()
    except SystemExit as end:
        if end.code and not whole:
            raise


def tuning(folder: Path, out: Path, resume: bool) -> None:
    """``maskgae tune``, which goes on by its records."""
    graph = generate(90, 300, num_features=4, communities=3, seed=3)
    runner.cached_dataset = lambda name: graph
    small = "--set training.epochs=3 --set encoder.hidden=16 --set encoder.dim=16"
    text = f"tune link --grid mask.p=[0.3,0.5] --seeds 2 {small} --quiet --results OUT"
    commands(f"{text} --json OUT/points.json")(folder, out, resume)


QUICK = ("--set", "training.eval_every=5", "--set", "training.patience=0")
LONG = ("--set", "training.epochs=200")
LAST = ("--set", "training.select=last")  # weights that know every step
SHORT = ("--set", "training.epochs=2", "--checkpoint-every", "1")
BLOCKS = ("--set", "training.fanouts=[5, 5]", "--set", "training.batch_pairs=100")
VECTORS = ("--set", "encoder.node_embedding=256", "--set", "training.average=0.9")

#: Every command that writes a table, and those that write a document.
TABLES = (
    "embed IN/run --out OUT/z.parquet --threads 1",
    "links IN/run --out OUT/links.csv --threads 1",
    "score IN/run IN/edges.csv --out OUT/scores.npz --threads 1",
    "embed IN/run --out OUT/grown.tsv --edges IN/edges.csv --nodes IN/nodes.csv --threads 1",
)
DOCUMENTS = (
    "analyze graph --edges IN/edges.csv --json OUT/facts.json --threads 1",
    "analyze overlap --edges IN/edges.csv --seeds 1 --json OUT/overlap.json --threads 1",
)

SCENES = (
    Scene(
        "training", fit(*QUICK, *LAST, "--set", "training.epochs=200", "--checkpoint-every", "9")
    ),
    Scene("checkpointing", every_step(fit(*QUICK, *VECTORS, "--set", "training.epochs=30"))),
    Scene("batches", every_step(fit(*QUICK, *LAST, *BLOCKS, "--set", "training.epochs=8"))),
    Scene("ingesting", ingest),
    Scene("results", fit("--set", "training.epochs=2")),
    Scene("quick", fit("--quick")),
    Scene("one way", fit("--directed", *SHORT)),
    Scene("in time", fit("--time", "year", *SHORT, edges="times.csv")),
    Scene("replacing", forced(fit(*SHORT)), fit(*SHORT, "--seed", "1"), Run.load),
    Scene("ingesting again", ingest_again, ingest, lambda out: open_store(out).verify()),
    Scene("records", records, appends=True),
    Scene("tuning", tuning, appends=True, leaves=True),
    Scene("tables", of_run(*TABLES), of_run(f"{TABLES[1]} --top 1"), leaves=True),
    Scene("page", page, run_with_another_page, Run.load, leaves=True),
    Scene("generating", generating),
    Scene("documents", commands(*DOCUMENTS), commands(DOCUMENTS[0]), leaves=True),
)

READERS: dict[str, Callable[[Path], object]] = {
    ".safetensors": read_tensors,
    ".parquet": pq.read_table,
    ".tsv": lambda path: list(csv.reader(path.read_text().splitlines(), "excel-tab", strict=True)),
    ".npy": lambda path: np.load(path).sum(),
    ".npz": lambda path: {name: array.tobytes() for name, array in np.load(path).items()},
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
