"""Checkpoints of strangers, of other versions, and of machines that slept."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.test_checkpoint import after, trainer

import maskgae
from maskgae.base.errors import InputError, StoppedError
from maskgae.base.tensors import read_tensors, write_tensors
from maskgae.data import Graph
from maskgae.evaluation.method import Validation
from maskgae.training import Checkpoints
from maskgae.training.checkpoint import checkpoint_paths


def rewritten(folder: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    """Changes what the newest checkpoint says, with a checksum that fits."""
    path = checkpoint_paths(folder)[-1]
    tensors, about = read_tensors(path)
    change(tensors, about)
    write_tensors(path, tensors, about)


HOSTILE: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "a weight is missing": lambda tensors, about: tensors.pop(min(tensors)),
    "a weight has another shape": lambda tensors, about: tensors.update(
        {key: torch.ones(1, 2, 3) for key in tensors if key.startswith("net.")}
    ),
    "the best weights are others": lambda tensors, about: tensors.update({"best.x": torch.ones(9)}),
    "a moment has another shape": lambda tensors, about: tensors.update(
        {"optimizer.0.exp_avg": torch.ones(1, 1)}
    ),
    "a moment has another type": lambda tensors, about: tensors.update(
        {"optimizer.0.step": torch.ones((), dtype=torch.int64)}
    ),
    "a moment is missing": lambda tensors, about: tensors.pop("optimizer.0.exp_avg"),
    "the average is gone": lambda tensors, about: [
        tensors.pop(key) for key in [*tensors] if key.startswith("average.")
    ],
}
FACTS = [
    *(("epoch", -1), ("epoch", 10**30), ("epoch", "two"), ("step", None), ("step", True)),
    *(("epoch_step", 10**30), ("epoch_loss", "x"), ("best_epoch", -7), ("stopped", 0)),
    *(("history", {}), ("history", [1, 2]), ("history", [{"loss": "x"}] * 6), ("history", [])),
    *(("average_steps", -1), ("best_value", [])),
]


def forged(
    graph: Graph,
    validation: Validation,
    folder: Path,
    change: Callable[[dict[str, Any], dict[str, Any]], object],
) -> str:
    """What is said of a checkpoint that was changed."""
    values = {"training.average": 0.9}
    trainer(graph, validation, values, Checkpoints(folder, "2")).run()
    rewritten(folder, change)
    resumed = trainer(graph, validation, values, Checkpoints(folder, "2", resume=True))
    with pytest.raises(InputError, match=r"epoch-0000\d\d.safetensors does not fit") as raised:
        resumed.run()
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("harm", HOSTILE)
def test_tensors_are_checked_whatever_the_checksum_says(
    graph: Graph, validation: Validation, tmp_path: Path, harm: str
) -> None:
    forged(graph, validation, tmp_path, HOSTILE[harm])


@pytest.mark.parametrize(("name", "value"), FACTS)
def test_so_are_facts(
    graph: Graph, validation: Validation, tmp_path: Path, name: str, value: Any
) -> None:
    change = {name: value}
    said = forged(graph, validation, tmp_path, lambda tensors, about: about["facts"].update(change))
    assert f"as {name} is missing" in said


@pytest.mark.parametrize("key", ["facts", "identity"])
def test_what_is_no_document_is_no_checkpoint(graph: Graph, tmp_path: Path, key: str) -> None:
    trainer(graph, None, {}, Checkpoints(tmp_path, "9")).run()
    rewritten(tmp_path, lambda tensors, about: about.update({key: [1]}))
    heard: list[str] = []
    trainer(graph, None, {}, Checkpoints(tmp_path, "9", resume=True, notice=heard.append)).run()
    assert "is no checkpoint" in heard[0] and "starting afresh" in heard[1]


def test_another_version_of_the_package_goes_on(
    graph: Graph, validation: Validation, tmp_path: Path
) -> None:
    """A setting that it did not have yet was at its default, and the versions are told."""
    whole = trainer(graph, validation, {})
    whole.run()
    with pytest.raises(StoppedError):
        trainer(graph, validation, {}, Checkpoints(tmp_path, "0", stop=after(2))).run()

    def older(tensors: dict[str, Any], about: dict[str, Any]) -> None:
        del about["identity"]["training.select"], about["identity"]["embedding.columns"]
        about["versions"]["maskgae"] = "0.0.1"
        del about["versions"]["processor"]  # which it did not name yet

    rewritten(tmp_path, older)
    heard: list[str] = []
    resumed = Checkpoints(tmp_path, "0", resume=True, notice=heard.append)
    ours = trainer(graph, validation, {}, resumed)
    ours.run()
    assert "which maskgae 0.0.1 wrote: the last digits may differ" in heard[0]
    assert ours.net.score(graph, graph.pairs).equal(whole.net.score(graph, graph.pairs))
    rewritten(tmp_path, lambda tensors, about: about["identity"].update({"mask.colour": 1}))
    with pytest.raises(InputError, match=r"mask\.colour differ"):
        trainer(graph, validation, {}, Checkpoints(tmp_path, resume=True)).run()


def test_a_machine_that_slept_goes_on(
    graph: Graph, validation: Validation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clocks that leap make more checkpoints, and change nothing."""
    whole = trainer(graph, validation, {})
    whole.run()
    leaps = iter(range(10**9))
    monkeypatch.setattr(time, "monotonic", lambda: 86400.0 * next(leaps))
    monkeypatch.setattr(time, "perf_counter", lambda: -3600.0 * next(leaps))
    ours = trainer(graph, validation, {}, Checkpoints(tmp_path, "3600s"))
    ours.run()
    assert ours.net.score(graph, graph.pairs).equal(whole.net.score(graph, graph.pairs))
    assert len(checkpoint_paths(tmp_path)) == 2


def test_nothing_asks_for_the_time_of_day() -> None:
    """Only clocks that never go back are read, so a clock that is set matters to nothing."""
    source = Path(maskgae.__file__).parent
    asked = re.compile(r"\btime\.(time|localtime|gmtime)\(|\.(now|today|utcnow)\(")
    found = [path for path in source.rglob("*.py") if asked.search(path.read_text("utf-8"))]
    assert found == []
