"""A child process that reads hostile files, for each module of this folder."""

from collections.abc import Iterator

import pytest
from tests.harness.bounded import Child, child


@pytest.fixture(scope="module")
def reader() -> Iterator[Child]:
    with child() as process:
        yield process
