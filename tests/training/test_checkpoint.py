"""A training that was stopped anywhere ends as one that never was, and broken files are noticed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from maskgae.base.errors import InputError, RunError, StoppedError
from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.base.tensors import read_tensors, write_tensors
from maskgae.data import Graph
from maskgae.evaluation.method import Validation
from maskgae.nn.network import MaskGAENet
from maskgae.training import Checkpoints, Trainer
from maskgae.training.checkpoint import checkpoint_paths

pytestmark = pytest.mark.usefixtures("global_rng_untouched")

SMALL = {"encoder.hidden": 16, "encoder.dim": 8, "training.epochs": 6, "training.eval_every": 2}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "averaged": {"training.average": 0.9, "objective.alpha": 0.01},
    "batches": {"training.batch_pairs": 100, "training.average": 0.9},
    "blocks": {"training.batch_pairs": 100, "training.fanouts": (4, 4)},
    "last": {"training.select": "last", "encoder.norm": "layer"},
    "steps": {"training.batch_pairs": 100, "training.max_steps": 5},
}


def trainer(
    graph: Graph,
    validation: Validation | None,
    values: Mapping[str, Any],
    checkpoints: Checkpoints | None = None,
) -> Trainer:
    settings = Settings().updated({**SMALL, **values})
    net = MaskGAENet.for_graph(graph, settings)
    return Trainer(net, graph, validation, stream(0, "run"), None, checkpoints)


def after(steps: int) -> Callable[[], bool]:
    """Asks to stop from the given question on."""
    asked = iter(range(10**9))
    return lambda: next(asked) >= steps


def without_times(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "seconds"} for row in history]


@pytest.mark.parametrize("values", VARIANTS.values(), ids=list(VARIANTS))
def test_a_resumed_training_ends_as_one_never_stopped(
    graph: Graph, validation: Validation, tmp_path: Path, values: dict[str, Any]
) -> None:
    whole = trainer(graph, validation, values)
    whole.run()
    ended, stops = None, 0
    while ended is None:
        checkpoints = Checkpoints(tmp_path, "0", resume=stops > 0, stop=after(1))
        ours = trainer(graph, validation, values, checkpoints)
        try:
            ended = ours.run()
        except StoppedError:
            stops += 1
    assert stops >= 2
    assert {k: v.tolist() for k, v in ours.net.state_dict().items()} == {
        k: v.tolist() for k, v in whole.net.state_dict().items()
    }
    assert without_times(ended.history) == without_times(whole.state.history)
    assert (ended.best_value, ended.stopped) == (whole.state.best_value, whole.state.stopped)
    assert len(checkpoint_paths(tmp_path)) <= 2


def test_checkpoints_come_at_their_interval_and_the_last_two_stay(
    graph: Graph, tmp_path: Path
) -> None:
    trainer(graph, None, {}, Checkpoints(tmp_path / "c", "2")).run()
    names = [path.name for path in checkpoint_paths(tmp_path / "c")]
    assert names == ["epoch-000004.safetensors", "epoch-000006.safetensors"]
    trainer(graph, None, {}, Checkpoints(tmp_path / "s", "3600s")).run()
    assert [path.name for path in checkpoint_paths(tmp_path / "s")] == ["epoch-000001.safetensors"]
    trainer(graph, None, {}, Checkpoints(tmp_path / "n", "0")).run()
    assert not (tmp_path / "n").exists()


def test_a_fresh_training_leaves_none_of_an_earlier_one(graph: Graph, tmp_path: Path) -> None:
    trainer(graph, None, {}, Checkpoints(tmp_path, "2")).run()
    trainer(graph, None, {"mask.p": 0.5}, Checkpoints(tmp_path, "60s")).run()
    assert [path.name for path in checkpoint_paths(tmp_path)] == ["epoch-000001.safetensors"]


def test_a_broken_checkpoint_is_passed_over_with_a_notice(
    graph: Graph, validation: Validation, tmp_path: Path
) -> None:
    trainer(graph, validation, {}, Checkpoints(tmp_path, "2")).run()
    good, newest = checkpoint_paths(tmp_path)
    newest.write_bytes(newest.read_bytes()[:-7])
    heard: list[str] = []
    ours = trainer(
        graph, validation, {}, Checkpoints(tmp_path, "2", resume=True, notice=heard.append)
    )
    ours.run()
    assert str(newest) in heard[0] and "broken" in heard[0] and str(good) in heard[1]
    whole = trainer(graph, validation, {})
    whole.run()
    assert ours.net.score(graph, graph.pairs).equal(whole.net.score(graph, graph.pairs))
    for path in checkpoint_paths(tmp_path):
        path.write_bytes(b"")
    checkpoints = Checkpoints(tmp_path, resume=True, notice=heard.append)
    trainer(graph, validation, {}, checkpoints).run()
    assert "starting afresh" in heard[-1]


@pytest.mark.parametrize(
    ("values", "validated", "named"),
    [
        ({"mask.p": 0.5}, True, "mask.p was 0.3 and is 0.5"),
        ({"seed": 3}, True, "seed was 0 and is 3; the weights to start from differ"),
        ({}, False, "the held-out edges differ"),
    ],
)
def test_another_runs_checkpoint_is_refused(
    graph: Graph,
    validation: Validation,
    tmp_path: Path,
    values: dict[str, Any],
    validated: bool,
    named: str,
) -> None:
    trainer(graph, validation, {}, Checkpoints(tmp_path, "2")).run()
    resumed = Checkpoints(tmp_path, "7", resume=True)
    other = trainer(graph, validation if validated else None, values, resumed)
    with pytest.raises(InputError, match=named):
        other.run()
    one_less = graph.subgraph(torch.arange(graph.num_pairs - 1))
    with pytest.raises(InputError, match="the training edges differ"):
        trainer(one_less, validation, {}, Checkpoints(tmp_path, resume=True)).run()


def test_a_training_that_diverges_names_what_is_kept(graph: Graph, tmp_path: Path) -> None:
    values = {"training.lr": 1e30, "encoder.norm": "none", "training.epochs": 20}
    with pytest.raises(RunError, match=r"diverged in epoch .*epoch-0000\d\d.*--from"):
        trainer(graph, None, values, Checkpoints(tmp_path, "1")).run()


def test_a_folder_that_is_gone_is_an_error_that_names_it(graph: Graph, tmp_path: Path) -> None:
    gone = tmp_path / "run" / "checkpoints"
    with pytest.raises(RunError, match=str(gone)):
        trainer(graph, None, {}, Checkpoints(gone, "1")).run()


def test_every_bit_that_flips_is_noticed(tmp_path: Path) -> None:
    path, broken = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    tensors = {"w": torch.arange(3.0), "step": torch.tensor(2.0), "n": torch.tensor([1])}
    write_tensors(path, tensors, {"epoch": 3, "best": float("-inf"), "rows": [{"loss": 0.1}]})
    content = path.read_bytes()
    read, about = read_tensors(path)
    assert about["best"] == float("-inf") and all(read[k].equal(tensors[k]) for k in tensors)
    for bit in range(0, 8 * len(content), 11):  # all of them take ten seconds
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        broken.write_bytes(flipped)
        with pytest.raises(InputError, match=re.escape(str(broken))):
            read_tensors(broken)


@pytest.mark.parametrize("entry", ["[]", "{}", '{"about": []}', '{"about": {}}', "no JSON"])
def test_a_file_that_someone_else_wrote_is_refused(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "epoch-000001.safetensors"
    save_file({"net.w": torch.ones(2)}, path, {"maskgae": entry})
    with pytest.raises(InputError, match="that maskgae wrote"):
        read_tensors(path)


def test_weights_are_no_checkpoint(graph: Graph, tmp_path: Path) -> None:
    write_tensors(tmp_path / "epoch-000009.safetensors", {"w": torch.ones(2)}, {"format": 1})
    heard: list[str] = []
    trainer(graph, None, {}, Checkpoints(tmp_path, resume=True, notice=heard.append)).run()
    assert "is no checkpoint" in heard[0] and "starting afresh" in heard[1]
