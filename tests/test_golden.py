"""What was measured stays what it was: kept records are found again, small runs give their bits.

``python -m tests.test_golden`` writes what small runs give on this processor beside what they give
on others; do so only on one that is not there yet or where a result is meant to change, and say why
in the commit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from typer.testing import CliRunner

from maskgae.base.processor import processor
from maskgae.base.settings import Settings
from maskgae.cli import app
from maskgae.datasets.generated import generate
from maskgae.lab import Cell, Records, run_seed

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
SHORT = {"training.epochs": 12, "training.eval_every": 4}


def digest(document: Any) -> str:
    """Twelve digits that stand for a document to the last bit."""
    text = json.dumps(document, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def kept_cells() -> list[dict[str, Any]]:
    return json.loads((GOLDEN / "records.json").read_text())


def cell_of(kept: dict[str, Any]) -> Cell:
    settings = Settings().updated(kept["settings"])
    return Cell(kept["task"], kept["dataset"], settings, method=kept["method"])


def test_every_record_is_found_by_its_settings_with_its_values() -> None:
    lost = []
    for kept in kept_cells():
        records, cell = Records(ROOT / kept["store"]), cell_of(kept)
        for seed, value in kept["seeds"].items():
            run = records.load(cell, int(seed))
            if run is None or digest([run.metrics, run.sanity]) != value:
                lost.append((kept["store"], cell.task, cell.dataset, cell.method, seed))
    assert lost == []


def community_graph() -> Any:
    return generate(300, 900, num_features=24, communities=4, seed=7)


def evaluated(task: str) -> dict[str, Any]:
    settings = Settings().updated({**SHORT, "split.hard_negatives": 20})
    run = run_seed(Cell(task, "imports", settings), community_graph(), 3)
    return {"metrics": dict(run.metrics), "sanity": {k: dict(v) for k, v in run.sanity.items()}}


def fitted(folder: Path) -> dict[str, Any]:
    """A fit from the command line: its metrics, and its vectors as a few sums."""
    graph, edges = community_graph(), folder / "edges.csv"
    rows = (f"n{u},n{v}" for u, v in graph.pairs.T.tolist())
    edges.write_text("\n".join(["source,target", *rows]) + "\n")
    words = ["fit", str(edges), "--out", str(folder / "run"), "--seed", "5", "--quiet"]
    for key, value in {**SHORT, "scorer.kind": "network", "embedding.parts": "layers"}.items():
        words += ["--set", f"{key}={value}"]
    result = CliRunner().invoke(app, [*words, "--threads", "1"])
    assert result.exit_code == 0, result.output
    record = json.loads((folder / "run" / "metrics.json").read_text())
    table = pq.read_table(folder / "run" / "embeddings.parquet").drop(["id"])
    vectors = np.stack([column.to_numpy() for column in table.columns])
    return {
        "metrics": {name: found["mean"] for name, found in record["metrics"].items()},
        "shape": list(vectors.shape),
        "sums": np.abs(vectors).sum(1, dtype=np.float64).tolist()[:8],
        "bits": hashlib.blake2b(vectors.tobytes(), digest_size=6).hexdigest(),
    }


def machine() -> str:
    """What decides the last bits of a sum: other processors add in another order."""
    return f"{processor()}, torch {torch.__version__}"


def golden_runs() -> dict[str, Any]:
    """What small runs give, by the machine."""
    found: dict[str, Any] = json.loads((GOLDEN / "runs.json").read_text())
    return found


def numbers(document: Any) -> Iterator[float]:
    if isinstance(document, dict):
        for key in sorted(document):
            yield from numbers(document[key])
    elif isinstance(document, list):
        for item in document:
            yield from numbers(item)
    elif not isinstance(document, str):
        yield float(document)


def restricted(found: Any, golden: Any) -> Any:
    """What the golden file knows of a document: new figures may stand beside the old ones."""
    if not isinstance(golden, dict):
        return found
    return {key: restricted(found[key], golden[key]) for key in golden}


@pytest.mark.parametrize("name", ["link", "node", "fit"])
def test_small_runs_give_their_bits(name: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    golden, found = golden_runs(), fitted(tmp_path) if name == "fit" else evaluated(name)
    for where, runs in golden.items():
        known = restricted(found, runs[name])
        if where == machine():
            assert known == runs[name]
        elif machine() not in golden:
            assert list(numbers(known)) == pytest.approx(list(numbers(runs[name])), abs=0.02)


def write_golden(folder: Path) -> None:
    """Writes what is true here now as what shall stay."""
    torch.set_num_threads(1)
    runs = {name: evaluated(name) for name in ("link", "node")} | {"fit": fitted(folder)}
    golden = golden_runs() | {machine(): runs}
    (GOLDEN / "runs.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write_golden(Path(folder))
