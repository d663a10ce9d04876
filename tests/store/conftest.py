"""Stores in many small parts."""

import pytest

from maskgae.io import text
from maskgae.store import assemble, sorting


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs, ranges and blocks so small that every file has many."""
    monkeypatch.setattr(sorting, "RUN", 16)
    monkeypatch.setattr(sorting, "_SAMPLED", 2)
    monkeypatch.setattr(assemble, "CHUNK_PAIRS", 12)
    monkeypatch.setattr(text, "_BLOCK", 256)
