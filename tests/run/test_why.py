"""Why a link is suggested, by the names of a user's files."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import maskgae
from maskgae import InputError, Run
from maskgae.cli import app
from maskgae.evaluation.scorer import Scorer

# ann and bob share cyd, and both write of graphs; eve stands between cyd and dan.
EDGES = "source,target\nann,cyd\nbob,cyd\ncyd,eve\neve,dan\nann,fay\nfay,bob\n"
NODES = "id,text,town\n" + "".join(
    f"{name},{text},{town}\n"
    for name, text, town in [
        ("ann", "graphs and nets", "east"),
        ("bob", "graphs of trees", "east"),
        ("cyd", "birds", "west"),
        ("dan", "planes", "west"),
        ("eve", "some word", "east"),
        ("fay", "another word", "west"),
    ]
)
WEIGHTS = {"network": 0.5, "resource_allocation": 1.0, "three_steps": 1.0, "feature_cosine": 2.0}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("why")
    (folder / "edges.csv").write_text(EDGES)
    (folder / "nodes.csv").write_text(NODES)
    source = maskgae.read(folder / "edges.csv", folder / "nodes.csv")
    fitted = maskgae.fit(source, {"training.epochs": 1}, holdout=False)
    ones = (1.0,) * len(WEIGHTS)
    fitted.scorer = Scorer(tuple(WEIGHTS), (0.0,) * len(WEIGHTS), ones, tuple(WEIGHTS.values()))
    fitted.save(folder / "run")
    return Run.load(folder / "run")


def test_shares_have_names_and_add_up_to_the_score(run: Run) -> None:
    found = run.why("ann", "bob")
    shares = {reason.kind: reason for reason in found.reasons}
    # cyd has three neighbours, fay two: 1/3 + 1/2 under the root.
    neighbours = shares["shared neighbours"]
    assert neighbours.share == pytest.approx((5 / 6) ** 0.5, rel=1e-6)
    assert [name for name, _ in neighbours.parts[:2]] == ["fay", "cyd"]
    # Each has three words and a town; they share one word and the town: a cosine of 2 / 4.
    features = shares["shared features"]
    assert features.share == pytest.approx(2 * 0.5, rel=1e-6)
    assert sorted(name for name, _ in features.parts[:2]) == ["text: graphs", "town = east"]
    assert sum(reason.share for reason in found.reasons) == pytest.approx(found.score)
    assert found.probability == pytest.approx(float(run.score([("ann", "bob")])[0]), rel=1e-5)


def test_paths_are_named_in_their_order(run: Run) -> None:
    paths = {reason.kind: reason for reason in run.why("ann", "dan").reasons}
    assert paths["paths of three steps"].parts[0][0] == "cyd – eve"


def test_the_network_alone_names_nothing(run: Run) -> None:
    bare = Run(run.net, run.source, structural=run.structural)
    assert [reason.kind for reason in bare.why("ann", "bob").reasons] == ["the network"]


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (("ann", "cyd"), "linked already"),
        (("ann", "ann"), "two nodes"),
        (("ann", "zed"), "'zed'"),
    ],
)
def test_what_has_no_answer_is_refused(run: Run, pair: tuple[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        run.why(*pair)


def test_the_verb_prints_lines_of_80_columns(run: Run) -> None:
    assert run.folder is not None
    result = CliRunner().invoke(app, ["why", str(run.folder), "ann", "bob", "--threads", "1"])
    assert result.exit_code == 0, result.output
    assert "+0.91  shared neighbours" in result.output
    assert max(map(len, result.output.splitlines())) <= 80
