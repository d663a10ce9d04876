"""Compiled loops where nothing can be kept, and shares of threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from maskgae.kernels import compiled as room
from maskgae.kernels.compiled import compiled, in_threads


def test_a_loop_is_compiled_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])

    @compiled
    def doubled(x: int) -> int:
        return 2 * x

    assert doubled(21) == 42


@pytest.mark.parametrize("threads", [1, 3])
def test_every_item_is_done_once_by_as_many_threads(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room.torch, "get_num_threads", lambda: threads)
    meeting, done = threading.Barrier(threads), np.zeros(10)

    def work(part: slice) -> None:
        meeting.wait(timeout=60)  # so that no thread takes two shares
        done[part] += 1

    in_threads(work, 10, least=2)
    assert (done == 1).all()


def test_what_goes_wrong_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room.torch, "get_num_threads", lambda: 2)

    def work(part: slice) -> None:
        raise ValueError(part.stop)

    with pytest.raises(ValueError, match="5"):
        in_threads(work, 10, least=2)
