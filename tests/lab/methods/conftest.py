"""What the tests of methods share."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def double_precision() -> Iterator[None]:
    """Makes float64 the default type of the numbers in a graph's matrices."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)
