"""What tests of several rooms share."""

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.harness import calls

# OGB looks for a newer version of itself in a thread that outlives the test which imports it; it
# does without where the package that looks is missing.
sys.modules["outdated"] = None  # type: ignore[assignment]


@pytest.fixture
def data_folder() -> Path:
    """The folder of benchmark data, or a visible skip where this machine has none."""
    folder = os.environ.get("MASKGAE_DATA")
    if not folder or not (Path(folder) / "Cora" / "raw").is_dir():
        pytest.skip("needs MASKGAE_DATA, a folder with Cora/raw and the like")
    return Path(folder)


@pytest.fixture
def global_rng_untouched() -> Iterator[None]:
    """Fails a test that draws from, or seeds, the global generators of torch, NumPy or Python."""
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    yield
    assert torch.equal(torch.get_rng_state(), before[0]), "torch's global generator was touched"
    for now, then in zip(np.random.get_state(), before[1], strict=True):  # noqa: NPY002
        assert np.array_equal(now, then), "NumPy's global generator was touched"
    assert random.getstate() == before[2], "Python's global generator was touched"


@pytest.fixture(scope="session")
def warm() -> Iterator[calls.Warm]:
    """Runs commands in forks of a process that has imported everything."""
    with calls.warm() as process:
        yield process


@pytest.fixture(scope="session")
def warm_elsewhere() -> Iterator[calls.Warm]:
    """The same in other surroundings: hash seed, locale and time zone."""
    odd = {"PYTHONHASHSEED": "77", "LC_ALL": "tr_TR.UTF-8", "LANG": "C", "TZ": "Asia/Kolkata"}
    with calls.warm(**odd) as process:
        yield process
