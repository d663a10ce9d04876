"""Too little memory, wherever it runs out: one line, the exit code 1 and a way out."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.harness.calls import Warm

from maskgae import cli
from maskgae.base.errors import InputError
from maskgae.datasets.generated import generate

MIB = 2**20
FIT = ("--set", "training.epochs=1", "--threads", 1, "--quiet")


def native() -> None:
    torch.empty(10**15)


def numeric() -> None:
    np.empty(10**15)


def hidden() -> None:
    try:
        numeric()
    except MemoryError:
        raise InputError("edges.csv is not a table") from None


@pytest.mark.parametrize("fail", [native, numeric, hidden])
@pytest.mark.parametrize(("verb", "way"), [("fit", "--batch-pairs"), ("tune", "fewer --jobs")])
def test_one_line_with_a_way_out(
    fail: Callable[[], None],
    verb: str,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.setattr("sys.argv", ["maskgae", verb])
    with pytest.raises(SystemExit) as end:
        cli.main()
    text = capsys.readouterr().err
    assert end.value.code == 1 and text.count("\n") == 1
    assert text.startswith("error: there is not enough memory: ") and way in text


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    graph = generate(60, 200, num_features=4, seed=0)
    lines = "".join(f"{u},{v}\n" for u, v in graph.pairs.T.tolist())
    (folder / "edges.csv").write_text(lines)
    assert warm("fit", folder / "edges.csv", "--out", folder / "run", *FIT).code == 0
    return folder


@pytest.mark.parametrize(
    "verb", ["fit EDGES --out NEW", "links RUN --out TABLE", "ingest EDGES --out NEW"]
)
@pytest.mark.parametrize("megabytes", [0, 30, 210])
def test_under_a_limit_of_the_address_space(
    home: Path, tmp_path: Path, warm: Warm, verb: str, megabytes: int
) -> None:
    places = {"EDGES": home / "edges.csv", "RUN": home / "run"}
    places |= {"NEW": tmp_path / "new", "TABLE": tmp_path / "a.csv"}
    words = [places.get(word, word) for word in verb.split()]
    words += FIT if words[0] == "fit" else ()
    # As a user who knows better, so that the estimate does not refuse it beforehand.
    knows = {"MASKGAE_MEMORY": "64GiB"}
    ended = warm(*words, memory=megabytes * MIB, environment=knows, seconds=60)
    assert ended.wrong == "" and ended.code in (0, 1), ended
    assert ended.code == 1 or megabytes > 200
    assert ended.code == 0 or "not enough memory: " in ended.errors
