"""What tests of several rooms share."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def data_folder() -> Path:
    """The folder of benchmark data, or a visible skip where this machine has none."""
    folder = os.environ.get("MASKGAE_DATA")
    if not folder or not (Path(folder) / "Cora" / "raw").is_dir():
        pytest.skip("needs MASKGAE_DATA, a folder with Cora/raw and the like")
    return Path(folder)
