"""What a statement loads: nothing that its user has not asked for."""

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
