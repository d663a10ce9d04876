"""Several ranks: together they do what one rank does, and go on when one of them is lost."""

import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file

from maskgae.base.errors import InputError, StoppedError
from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.datasets.generated import generate
from maskgae.evaluation.method import Validation
from maskgae.nn.network import MaskGAENet
from maskgae.run.agreement import digests
from maskgae.run.source import Source, read
from maskgae.training import Trainer, heartbeat
from maskgae.training.parallel import RankedCheckpoints, Ranks, ranks
from maskgae.training.state import Snapshot
from maskgae.training.steps import Steps

SMALL = {
    "encoder.hidden": 16,
    "encoder.dim": 8,
    "encoder.norm": "layer",
    "encoder.dropout": 0.0,
    "decoder.dropout": 0.0,
    "objective.loss": "info_nce",
    "objective.negatives": 3,
    "training.batch_pairs": 45,
    "training.epochs": 2,
    "training.eval_every": 1,
}


def test_shares_come_together_again() -> None:
    for count in (0, 1, 5, 6, 7):
        items = torch.arange(count)
        rows = [Ranks(rank, 3).rows(count) for rank in range(3)]
        assert torch.cat(rows).equal(items)
        shares = [Ranks(rank, 3).share(items) for rank in range(3)]
        assert torch.cat(shares).sort().values.equal(items)
    assert ranks() == Ranks() and Ranks().own(stream(3)) == stream(3)


@pytest.mark.parametrize("size", [45, 1])
def test_ranks_share_targets_with_their_negatives(graph: Graph, size: int) -> None:
    settings = Settings().updated(SMALL | {"training.batch_pairs": size, "training.epoch_steps": 2})
    net = MaskGAENet.for_graph(graph, settings)
    whole, *parts = (
        list(steps.epoch(net, steps.mask(0), 0))
        for steps in (
            Steps(graph, settings, stream(0), here) for here in (Ranks(), Ranks(0, 2), Ranks(1, 2))
        )
    )
    for step, *shared in zip(whole, *parts, strict=True):
        owned = {
            (tuple(pair), tuple(map(tuple, negatives)))
            for part in shared
            for pair, negatives in zip(
                part.targets.T.tolist(), part.negatives.T.view(-1, 3, 2).tolist(), strict=True
            )
        }
        negatives = step.negatives.T.view(-1, 3, 2).tolist()
        expected = zip(step.targets.T.tolist(), negatives, strict=True)
        assert owned == {(tuple(pair), tuple(map(tuple, group))) for pair, group in expected}
        assert sum(part.weight for part in shared) == 2


def both_ranks(work: Callable[..., None], folder: Path, *args: Any) -> None:
    """Runs a function as two ranks, in processes forked from this one."""
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_rank, args=(r, folder, work, *args)) for r in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0


def _rank(rank: int, folder: Path, work: Callable[..., None], *args: Any) -> None:
    torch.set_num_threads(1)
    place = f"file://{folder / 'meeting'}"
    dist.init_process_group("gloo", init_method=place, rank=rank, world_size=2)
    work(folder / f"{rank}.npz", *args)
    dist.destroy_process_group()


def _compare(path: Path, changed: bool) -> None:
    here = ranks()
    given = {"edges": "a", "--dim": "64" if changed and here.rank else "None"}
    try:
        here.check_same(given)
        path.write_text("the same")
    except InputError as error:
        path.write_text(str(error))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("changed", [False, True])
def test_ranks_that_were_given_different_things_all_end(tmp_path: Path, changed: bool) -> None:
    both_ranks(_compare, tmp_path, changed)
    said = "rank 1 was given other --dim than rank 0: give all ranks the same files and the same"
    for rank in range(2):
        text = (tmp_path / f"{rank}.npz").read_text()
        assert text.startswith(said) if changed else text == "the same"


def test_a_digest_tells_what_ranks_were_given_apart(tmp_path: Path) -> None:
    edges = [(0, 1), (1, 2), (2, 3)]
    x = np.eye(4, dtype=np.float32)
    wishes = {"set": {"mask.p": 0.5}, "dim": None}
    given = digests(read(edges, features=x), **wishes)
    every = wishes | {"set": {"mask.p": 0.5, "training.checkpoint_every": "9"}}
    assert digests(read(edges, features=x), **every) == given

    def other(source: Source, **more: Any) -> list[str]:
        found = digests(source, **wishes | more)
        return [name for name in given if found[name] != given[name]]

    assert other(read([*edges[:2], (1, 3)], features=x)) == ["edges"]
    assert other(read(edges, features=2 * x)) == ["features"]
    assert other(read([("a", "b"), ("b", "c"), ("c", "d")], features=x)) == ["ids"]
    assert other(read(edges, features=x), dim=3) == ["--dim"]
    assert other(read(edges, features=x), set={}) == ["--set"]


def _train(path: Path, graph: Graph, validation: Validation, settings: Settings) -> None:
    net = MaskGAENet.for_graph(graph, settings)
    trainer = Trainer(net, graph, validation, stream(0))
    step = next(trainer.steps.epoch(net, trainer.steps.mask(0), 0))
    (step.weight * trainer.module(step, stream(0))).backward()
    found = {
        f"grad.{name}": p.grad.numpy() for name, p in net.named_parameters() if p.grad is not None
    }
    state = trainer.run()
    found |= {name: value.numpy() for name, value in net.state_dict().items()}
    history = {name: np.array([row[name] for row in state.history]) for name in ("loss", "val_auc")}
    np.savez(path, **found, **history, targets=[row["targets"] for row in state.history])


def _of_kind(graph: Graph, kind: str) -> Graph:
    """The graph as it is, with directions, or between two sides."""
    if kind == "directed":
        return replace(graph, directions=1 + torch.arange(graph.num_pairs, dtype=torch.int32) % 3)
    if kind == "two-sided":
        between = graph.subgraph(graph.pairs.sum(0) % 2 == 1)
        return between.with_types(torch.arange(graph.num_nodes) % 2, ["even", "odd"])
    return graph


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    ("fanouts", "kind"),
    [((), "plain"), ((3,), "plain"), ((3,), "directed"), ((3,), "two-sided")],
    ids=["whole", "blocks", "directed", "two-sided"],
)
def test_two_ranks_do_what_one_does(
    graph: Graph, validation: Validation, tmp_path: Path, fanouts: tuple[int, ...], kind: str
) -> None:
    graph = _of_kind(graph, kind)
    # A loss that compares has no gradient for the last bias, and Adam would make much of its noise.
    settings = Settings().updated(SMALL | {"training.fanouts": fanouts, "objective.loss": "bce"})
    both_ranks(_train, tmp_path, graph, validation, settings)
    _train(tmp_path / "alone.npz", graph, validation, settings)
    alone, first, second = (np.load(tmp_path / f"{name}.npz") for name in ("alone", "0", "1"))
    for name in alone:
        tolerance = 1e-5 if name.startswith("grad.") else 1e-3
        np.testing.assert_allclose(first[name], alone[name], atol=tolerance, err_msg=name)
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_only_rank_0_saves_and_all_stop_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dist, "all_reduce", lambda values: values.fill_(1.0))  # the other asks
    follower = RankedCheckpoints(Ranks(1, 2), tmp_path, "1")
    assert follower.wanted(1, 0)
    with pytest.raises(StoppedError, match="with the other ranks"):
        follower.save(Snapshot({}, {}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("other", ["hangs", "beats", "has left"])
def test_a_rank_that_hangs_is_noticed(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "SECONDS", 0.01)
    monkeypatch.setattr(heartbeat, "PATIENCE", 5)
    store, said = dist.HashStore(), []
    ended = threading.Event()

    def end(code: int) -> None:
        ended.set()
        raise RuntimeError("nothing comes after it")

    monkeypatch.setattr(os, "_exit", end)
    with heartbeat.heartbeat(store, 0, 2, said.append):
        store.add("left/1", int(other == "has left"))
        for _ in range(20):
            store.add("beats/1", int(other == "beats"))
            time.sleep(0.01)
        assert ended.wait(5 if other == "hangs" else 0) is (other == "hangs")
    assert [text[:21] for text in said] == ["rank 1 has not moved "] * (other == "hangs")
    assert store.add("left/0", 0) == (other != "hangs")


# From here on real commands under torchrun.

QUICK = ("--batch-pairs", "400", "--threads", "1", "--checkpoint-every", "1", "--holdout", "0")


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graph = generate(1500, 6000, num_features=4, communities=5, seed=3)
    path = tmp_path_factory.mktemp("parallel") / "edges.csv"
    lines = [f"{u},{v}" for u, v in graph.pairs.T.tolist()]
    path.write_text("source,target\n" + "\n".join(lines) + "\n")
    return path


def torchrun(*arguments: Any, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "torch.distributed.run", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more
    )


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    return output


def workers(process: subprocess.Popen[str]) -> Iterator[int]:
    """The ranks that torchrun has started."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == process.pid:
            yield int(path.parent.name)


@pytest.mark.slow
def test_a_killed_rank_costs_nothing_but_time(edges: Path, tmp_path: Path) -> None:
    fit = ("-m", "maskgae", "fit", edges, *QUICK, "--set", "training.epochs=20", "--out")
    words = finish(torchrun("--standalone", "--nproc-per-node", 2, *fit, tmp_path / "calm"))
    assert words.count("shared by 2 ranks") == 1  # rank 0 alone prints
    restarts = ("--nproc-per-node", 2, "--max-restarts", 2)
    process = torchrun("--standalone", *restarts, *fit, tmp_path / "killed")
    while not list((tmp_path / "killed").glob("checkpoints/epoch-*")):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    time.sleep(random.random())
    os.kill(random.choice(list(workers(process))), signal.SIGKILL)
    assert "going on from" in finish(process)
    calm, killed = (load_file(tmp_path / name / "model.safetensors") for name in ("calm", "killed"))
    assert all(killed[name].equal(value) for name, value in calm.items())


IMPATIENT = """
import sys
from maskgae.training import heartbeat
heartbeat.SECONDS, heartbeat.PATIENCE = 0.5, 20
from maskgae.cli import main
main()
"""


@pytest.mark.slow
def test_a_rank_that_stands_still_is_given_up_and_started_again(
    edges: Path, tmp_path: Path
) -> None:
    script, run = tmp_path / "impatient.py", tmp_path / "run"
    script.write_text(IMPATIENT)
    fit = (script, "fit", edges, *QUICK, "--set", "training.epochs=40", "--out", run)
    process = torchrun("--standalone", "--nproc-per-node", 2, "--max-restarts", 1, *fit)
    while not list(run.glob("checkpoints/epoch-*")):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    os.kill(max(workers(process)), signal.SIGSTOP)
    words = finish(process)
    assert "has not moved for" in words and "going on from" in words
    assert (run / "model.safetensors").exists()


@pytest.mark.slow
@pytest.mark.parametrize("differs", ["the file", "the command", "one file is missing"])
def test_ranks_with_different_files_end_within_seconds(
    edges: Path, tmp_path: Path, differs: str
) -> None:
    other = edges.with_name("other.csv")
    other.write_text(edges.read_text() + "n0,n77\n")
    own = {"the file": f"{other} 16", "the command": f"{edges} 8", "one file is missing": "no 16"}
    script = tmp_path / "rank.sh"
    script.write_text(
        f'if [ "$RANK" = 1 ]; then set {own[differs]}; else set {edges} 16; fi\n'
        f'"{sys.executable}" -m maskgae fit $1 --dim $2 --out "{tmp_path / "run"}" '
        f'{" ".join(QUICK)} >"{tmp_path}/$RANK" 2>&1\n'
        f'code=$?; echo "code $code" >>"{tmp_path}/$RANK"; exit $code\n'
    )
    started = time.monotonic()
    process = torchrun("--standalone", "--nproc-per-node", 2, "--no-python", "sh", script)
    process.communicate(timeout=120)
    assert process.returncode != 0 and time.monotonic() - started < 120
    said = [
        (tmp_path / str(rank)).read_text() for rank in range(2) if (tmp_path / str(rank)).exists()
    ]
    assert "Traceback" not in "".join(said)
    names = {"the file": "edges", "the command": "--dim"}
    if differs in names:
        for text in said:
            assert f"error: rank 1 was given other {names[differs]}" in text, said
    else:
        assert "no does not exist" in said[-1], said  # torchrun ends the other, which may be mute


@pytest.mark.slow
def test_two_machines_in_two_network_namespaces(edges: Path, tmp_path: Path) -> None:
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("needs root and 'ip' to make network namespaces")
    names = [f"maskgae{os.getpid()}{side}" for side in "ab"]
    fit = ("-m", "maskgae", "fit", edges, *QUICK, "--set", "training.epochs=5")
    try:
        _join_namespaces(names)
        processes = [
            subprocess.Popen(
                ["ip", "netns", "exec", name, sys.executable, "-m", "torch.distributed.run"]
                + ["--nnodes", "2", "--nproc-per-node", "1", "--node-rank", str(number)]
                + ["--master-addr", "10.77.0.1", "--master-port", "29555"]
                + [str(word) for word in (*fit, "--out", tmp_path / "run")],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=os.environ | {"GLOO_SOCKET_IFNAME": f"v{number}"},
            )
            for number, name in enumerate(names)
        ]
        words = [finish(process) for process in processes]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
    assert "shared by 2 ranks" in words[0] and "shared by" not in words[1]
    alone = torchrun("--standalone", "--nproc-per-node", 2, *fit, "--out", tmp_path / "one")
    finish(alone)
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "run"))
    assert all(two[name].equal(value) for name, value in one.items())


def _join_namespaces(names: list[str]) -> None:
    """Two namespaces with a cable between them, or a visible skip where they may not be made."""
    commands = [f"netns add {name}" for name in names]
    commands.append(f"link add v0 netns {names[0]} type veth peer name v1 netns {names[1]}")
    for number, name in enumerate(names):
        commands.append(f"-n {name} addr add 10.77.0.{number + 1}/24 dev v{number}")
        commands += [f"-n {name} link set {device} up" for device in ("lo", f"v{number}")]
    for command in commands:
        done = subprocess.run(["ip", *command.split()], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"network namespaces are not allowed here: {done.stderr.strip()}")
