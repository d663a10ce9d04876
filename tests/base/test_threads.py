"""Work shared among threads."""

import threading

import pytest

from maskgae.base import threads
from maskgae.base.threads import each


@pytest.mark.parametrize("count", [1, 2])
def test_items_come_back_in_their_order_and_the_first_is_done_alone(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads.torch, "get_num_threads", lambda: count)
    done: list[int] = []
    first = threading.Event()

    def work(item: int) -> int:
        assert item == 0 or first.is_set()
        done.append(item)
        first.set()
        return 2 * item

    assert list(each(work, range(9))) == list(range(0, 18, 2))
    assert sorted(done) == list(range(9))


def test_what_goes_wrong_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads.torch, "get_num_threads", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        list(each(lambda item: 1 // (item - 2), range(5)))
