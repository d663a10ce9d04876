"""``fit --quick``: no network, and every verb answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import maskgae
from maskgae.base.errors import InputError
from maskgae.cli.app import app
from maskgae.datasets.generated import generate
from maskgae.run import Run
from maskgae.run.gains import gains


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("quick")
    graph = generate(200, 900, seed=1)
    edges = "\n".join(f"n{u},n{v}" for u, v in graph.pairs.T.tolist())
    (place / "edges.csv").write_text(f"source,target\n{edges}\n")
    words = ["fit", str(place / "edges.csv"), "--quick", "--out", str(place / "run"), "--quiet"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return place


@pytest.mark.parametrize(
    "words",
    [
        ["links", "{run}", "--top", "3"],
        ["similar", "{run}", "n1"],
        ["embed", "{run}", "--out", "{out}/vectors.csv"],
        ["embed", "{run}", "--edges", "{out}/edges.csv", "--out", "{out}/again.csv"],
        ["report", "{run}"],
    ],
)
def test_every_verb_answers(folder: Path, words: list[str]) -> None:
    filled = [word.format(run=folder / "run", out=folder) for word in words]
    result = CliRunner().invoke(app, filled)
    assert result.exit_code == 0, result.output


def test_nothing_is_told_of_a_network(folder: Path) -> None:
    words = ["fit", str(folder / "edges.csv"), "--quick", "--out", str(folder / "told")]
    text = CliRunner().invoke(app, words).output
    assert "settings: no network" in text and "epoch" not in text
    assert "fit --quick, no network" in text and "edge mask" not in text
    page = (folder / "told" / "report.html").read_text()
    assert "fit --quick, no network" in page


def test_reasons_have_no_network_and_scores_are_chances(folder: Path) -> None:
    run = Run.load(folder / "run")
    found = run.links(top=1)
    why = run.why(found["source"][0], found["target"][0])
    assert "the network" not in [reason.kind for reason in why.reasons]
    assert np.isclose(sum(reason.share for reason in why.reasons), why.score, atol=1e-5)
    assert run.embedding.shape == (200, 256) and run.history == []
    assert run.metrics["auc"] > 0.6
    assert list(gains(run.record)) == []  # nothing was trained


def test_a_new_node_gets_a_vector(folder: Path) -> None:
    run = Run.load(folder / "run")
    pairs = run.ids[run.graph.pairs.numpy().T].tolist()
    grown = run.embed([*pairs, ("new", "n1"), ("new", "n2")])
    place = grown.ids.tolist().index("new")
    assert np.abs(grown.values[place]).max() > 0


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"holdout": False}, "holdout = 0 leaves none"),
    ({"start": "run"}, "--from starts"),
]


@pytest.mark.parametrize(("wishes", "words"), WRONG)
def test_what_needs_a_network_is_refused(wishes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        maskgae.fit([(0, 1), (1, 2), (2, 3)], quick=True, **wishes)


def test_no_network_needs_the_rules() -> None:
    with pytest.raises(InputError, match=r"scorer\.kind=combined"):
        maskgae.fit([(0, 1), (1, 2), (2, 3)], {"encoder.kind": "none", "scorer.kind": "network"})


def test_few_edges_are_enough() -> None:
    run = maskgae.fit([(i, (i + 1) % 20) for i in range(20)], quick=True)
    assert run.embedding.shape[0] == 20 and len(run.links(top=1)["score"])


def test_a_fit_tells_what_training_added() -> None:
    run = maskgae.fit(generate(150, 600, seed=1), {"training.epochs": 2})
    assert next(gains(run.record)).startswith("training added")


def test_it_waits_for_no_library_that_it_does_not_use(tmp_path: Path) -> None:
    code = (
        "import sys; from maskgae import fit; "
        "edges = [(i, (i * k + 1) % 60) for i in range(60) for k in (3, 7, 11)]; "
        f"fit(edges, quick=True, folder={str(tmp_path / 'run')!r}); "
        "print(sorted({'sklearn', 'scipy.optimize', 'torch_geometric'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
