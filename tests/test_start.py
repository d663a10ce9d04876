"""What a statement loads: nothing that its user has not asked for."""

from pathlib import Path

import pytest
from benchmarks.start import COMMAND, HEAVY, run

#: What scikit-learn's base class loads by itself where it is installed.
BY_SKLEARN = {"pandas"}


@pytest.mark.parametrize(
    ("statement", "spared", "allowed"),
    [
        ("from maskgae import MaskGAE", HEAVY, BY_SKLEARN),
        ("import maskgae.training", (*HEAVY, "sklearn", "pyarrow", "scipy.sparse.linalg"), set()),
        ("import maskgae.run", (*HEAVY, "sklearn", "scipy.sparse.linalg"), set()),
        ("import maskgae.io.convert", (*HEAVY, "sklearn", "scipy.sparse.linalg"), set()),
        ("import maskgae.datasets.registry", (*HEAVY, "sklearn", "pyarrow"), set()),
        ("import maskgae.report", (*HEAVY, "sklearn", "pyarrow"), set()),
        (COMMAND.format(words=["maskgae", "--help"]), (*HEAVY[1:], "torch", "scipy"), set()),
        (COMMAND.format(words=["maskgae", "--version"]), (*HEAVY, "torch", "scipy"), set()),
    ],
)
def test_loads_only_what_it_needs(
    statement: str, spared: tuple[str, ...], allowed: set[str]
) -> None:
    assert set(run(statement, spared)[1]) <= allowed


def test_a_fit_loads_nothing_of_the_laboratory(tmp_path: Path) -> None:
    edges = tmp_path / "edges.csv"
    pairs = [(i % 60, (i * 7 + i // 60) % 60) for i in range(300)]
    edges.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in pairs))
    words = ["maskgae", "fit", str(edges), "--out", str(tmp_path / "run"), "--quiet"]
    words += ["--threads", "1", "--set", "training.epochs=1"]
    loaded = run(COMMAND.format(words=words), HEAVY)[1]
    assert (tmp_path / "run" / "report.html").exists()
    assert set(loaded) <= {"plotly", *BY_SKLEARN}


def test_a_missing_file_is_told_before_torch_is_loaded(tmp_path: Path) -> None:
    words = ["maskgae", "fit", str(tmp_path / "absent.csv"), "--out", str(tmp_path / "run")]
    assert set(run(COMMAND.format(words=words), (*HEAVY, "torch", "scipy"))[1]) == set()
