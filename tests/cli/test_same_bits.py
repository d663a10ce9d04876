"""The same command gives the same bits, whatever surrounds it; other threads give other roundings.

Every verb runs in two processes that differ in hash seed, locale, working directory, terminal and
time zone. Clocks stand still in both, and every byte that is printed or written must be equal.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.harness.calls import Warm

from maskgae.cli.app import VERBS
from maskgae.datasets.generated import generate

#: What is alike in both: the graph is small and every verb is quick.
QUICK = "--set training.epochs=2 --set encoder.hidden=16"
OWN = (
    f"fit edges.csv --nodes nodes.csv --label group --out run {QUICK} --threads 1 --quiet",
    "embed run --out z.parquet --threads 1",
    "links run --out links.csv --threads 1",
    "links run --node n1 --threads 1",
    "score run edges.csv --out scores.npz --threads 1",
    "similar run n1 --threads 1",
    "why run n1 n2 --threads 1",
    "report run --threads 1",
    "ingest edges.csv --nodes nodes.csv --out store",
    "ingest --generate nodes=99,pairs=300 --out made",
    f"fit store --out from_store {QUICK} --batch-pairs 50 --threads 1 --quiet",
    "fit edges.csv --nodes nodes.csv --quick --out quick --threads 1 --quiet",
    "links quick --nodes-from ids.txt --out some.csv --threads 1",
    f"fit edges.csv --directed --out one_way {QUICK} --threads 1 --quiet",
    "links one_way --out directed.csv --threads 1",
    f"fit times.csv --time year --out in_time {QUICK} --threads 1 --quiet",
    "links in_time --out future.csv --threads 1",
    "datasets",
    "presets",
)
LABORATORY = (
    f"evaluate link --seeds 1 {QUICK} --json record.json --threads 1",
    f"evaluate node --seeds 1 {QUICK} --json node.json --threads 1",
    f"tune link --grid mask.p=[0.3,0.5] --seeds 1 {QUICK} --results log --json points.json",
    "analyze graph --edges edges.csv --json facts.json --threads 1",
    "analyze overlap --edges edges.csv --seeds 1 --json overlap.json --threads 1",
    "reproduce link --no-run --results nothing --document nodes.csv",
    "contest --no-run --results nothing",
    "ablate all --no-run --results nothing --charts charts",
    "settings",
)

#: Verbs that are other verbs in a row.
LEFT_OUT = {"demo"}


def write_inputs(folder: Path) -> None:
    graph = generate(90, 300, num_features=4, communities=3, seed=3)
    names = ["né" if i == 9 else f"n{i}" for i in range(90)]
    edges = "".join(f"{names[u]},{names[v]}\n" for u, v in graph.pairs.T.tolist())
    (folder / "edges.csv").write_text(f"source,target\n{edges}", encoding="utf-8")
    times = (f"n{u},n{v},{1990 + (u + v) % 30}\n" for u, v in graph.pairs.T.tolist())
    (folder / "times.csv").write_text(f"source,target,year\n{''.join(times)}")
    (folder / "ids.txt").write_text("n1\nn2\n")
    rows = (f"{name},{i % 7},w{i % 50} w{i % 3},c{i % 3}\n" for i, name in enumerate(names))
    (folder / "nodes.csv").write_text(f"id,a,text,group\n{''.join(rows)}", encoding="utf-8")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folders = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("somewhere_else")
    for folder in folders:
        write_inputs(folder)
    return folders


def test_every_verb_is_tried() -> None:
    assert {command.split()[0] for command in OWN + LABORATORY} | LEFT_OUT == set(VERBS)


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, which may name the folder itself."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    here = str(folder).encode()
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().replace(here, b"HERE")
        for path in paths
    }


@pytest.mark.parametrize(
    "commands", [OWN, pytest.param(LABORATORY, marks=pytest.mark.slow)], ids=["own", "laboratory"]
)
def test_surroundings_change_no_bit(
    warm: Warm, warm_elsewhere: Warm, places: tuple[Path, Path], commands: tuple[str, ...]
) -> None:
    differing = []
    for command in commands:
        ends = [
            run(*command.split(), folder=str(folder), still=True)
            for run, folder in zip((warm, warm_elsewhere), places, strict=True)
        ]
        assert [end.code for end in ends] == [0, 0], (command, ends)
        if ends[0].output != ends[1].output:
            differing.append((command, *(end.output for end in ends)))
    one, other = map(files, places)
    assert differing == []
    assert [name for name in one | other if one.get(name) != other.get(name)] == []


def test_threads_change_rounding_only(warm: Warm, places: tuple[Path, Path]) -> None:
    folder = places[0]
    for count in (1, 2):
        shutil.rmtree(folder / f"run{count}", ignore_errors=True)
        threads = f"--threads {count}"
        for command in (
            f"fit edges.csv --nodes nodes.csv --out run{count} {QUICK} --quiet {threads}",
            f"embed run1 --out z{count}.npz {threads}",
            f"score run1 edges.csv --out s{count}.npz {threads}",
        ):
            ended = warm(*command.split(), folder=str(folder))
            assert ended.code == 0, ended
    for name in ("z", "s"):
        one, two = (np.load(folder / f"{name}{count}.npz") for count in (1, 2))
        for key in one:
            if one[key].dtype.kind == "f":
                np.testing.assert_allclose(one[key], two[key], atol=1e-5, err_msg=key)
            else:
                np.testing.assert_array_equal(one[key], two[key], err_msg=key)
