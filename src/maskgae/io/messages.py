"""How values of a user's file are shown in one line of an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

#: A longer value is cut when it is shown.
_SHOWN = 40


def shown(value: Any) -> str:
    r"""A value as it is written in Python, cut short, with control characters escaped.

    >>> shown("a\n"), shown("x" * 50)
    ("'a\\n'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'")
    """
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, str) and len(value) > _SHOWN:
        value = value[:_SHOWN] + "..."
    return repr(value)


def listed(values: Iterable[Any]) -> str:
    """Values with commas between them.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(shown(value) for value in values)


def five_of(values: Sequence[Any]) -> str:
    """The first five values, and how many there are if there are more.

    >>> five_of([1, 2]), five_of(range(9))
    ('1, 2', '0, 1, 2, 3, 4 and 4 more')
    """
    more = len(values) - 5
    return listed(islice(values, 5)) + (f" and {more:,} more" if more > 0 else "")


def one_line(error: BaseException) -> str:
    """What another library complains about, in one line and cut short."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 120 else text[:120] + "..."
