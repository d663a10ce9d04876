"""Work shared among threads."""

import threading
from collections.abc import Iterator

import pytest
import torch

from maskgae.base.threads import each, together


@pytest.fixture(params=[1, 2])
def count(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_items_come_back_in_their_order_and_the_first_is_done_alone(count: int) -> None:
    done: list[int] = []
    first = threading.Event()

    def work(item: int) -> int:
        assert item == 0 or first.is_set()
        done.append(item)
        first.set()
        return 2 * item

    assert list(each(work, range(9))) == list(range(0, 18, 2))
    assert sorted(done) == list(range(9))


def test_threads_have_no_threads_of_their_own(count: int) -> None:
    found = list(each(lambda item: torch.get_num_threads(), range(6)))
    assert found == [count, 1, 1, 1, 1, 1] and torch.get_num_threads() == count


def test_what_goes_wrong_in_a_thread_is_raised(count: int) -> None:
    with pytest.raises(ZeroDivisionError):
        list(each(lambda item: 1 // (item - 2), range(5)))


def test_few_items_are_done_at_once_and_each_without_threads_of_its_own(count: int) -> None:
    both = threading.Barrier(count, timeout=30)

    def work(item: int) -> tuple[int, int]:
        both.wait()
        return item, torch.get_num_threads()

    assert together(work, range(2)) == [(0, 1), (1, 1)] and torch.get_num_threads() == count
