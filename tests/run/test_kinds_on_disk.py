"""Directed and two-sided graphs from a store as from a file, and stopped and resumed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maskgae.base.errors import StoppedError
from maskgae.io.kinds import Kinds
from maskgae.run import Callback, Run, fit, read
from maskgae.store.ingest import ingest

KINDS = ["directed", "two-sided"]
SETTINGS = {
    "training.epochs": 6,
    "training.eval_every": 2,
    "training.batch_pairs": 64,
    "training.fanouts": [4],
    "split.val": 0.1,
}


def write(folder: Path, kind: str) -> Path:
    """Later papers cite earlier ones, or users go to places."""
    random = np.random.default_rng(0)
    if kind == "directed":
        rows = [(str(a), str(b)) for a in range(5, 70) for b in set(random.integers(a, size=6))]
    else:
        rows = [(f"u{a}", f"i{b}") for a in range(40) for b in set(random.integers(35, size=9))]
    path = folder / "edges.csv"
    path.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in rows))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_gives_what_its_file_gives(tmp_path: Path, kind: str) -> None:
    path, directed = write(tmp_path, kind), kind == "directed"
    store = ingest(path, tmp_path / "store", kinds=Kinds(directed=directed))
    one = fit(read(path, directed=directed), SETTINGS)
    other = fit(read(store.folder), SETTINGS, folder=tmp_path / "run")
    assert one.metrics == other.metrics
    np.testing.assert_array_equal(one.embedding, other.embedding)
    again = Run.load(tmp_path / "run").links(top=2, incoming=directed)
    np.testing.assert_array_equal(again["target"], one.links(top=2, incoming=directed)["target"])


class StopAt(Callback):
    """Asks to stop once some epochs are done."""

    def __init__(self, epochs: int) -> None:
        self.left = epochs

    def wants_stop(self) -> bool:
        self.left -= 1
        return self.left <= 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_fit_goes_on_as_if_nothing_had_been(tmp_path: Path, kind: str) -> None:
    path, directed = write(tmp_path, kind), kind == "directed"
    whole = fit(read(path, directed=directed), SETTINGS)
    with pytest.raises(StoppedError):
        fit(
            read(path, directed=directed),
            SETTINGS,
            folder=tmp_path / "run",
            callbacks=[StopAt(3)],
        )
    resumed = fit(read(path, directed=directed), SETTINGS, folder=tmp_path / "run", resume=True)
    assert resumed.metrics == whole.metrics
    np.testing.assert_array_equal(resumed.embedding, whole.embedding)
