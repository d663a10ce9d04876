"""The ways in which maskgae gives up.

Every message states the rule, the value that broke it and the way out, in one line, since the
command line prints it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """What the user gave cannot be used; the command line exits with 2."""


class RunError(RuntimeError):
    """The input was fine and the run still failed; the command line exits with 1."""


class StoppedError(RunError):
    """The run was asked to stop, has saved itself and can be resumed."""


#: How libraries say that they got no memory, where they have no type of error for it.
LACK_OF_MEMORY = re.compile(
    "can't allocate memory|not enough memory|out of memory|bad_alloc|cannot allocate memory|"
    "can't start new thread|failed to launch worker thread|failed to map segment|"
    "malloc of size .* failed|unable to allocate",
    re.IGNORECASE,
)


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether an error, or one that it came from, is a lack of memory: Python's, NumPy's, torch's.

    >>> is_lack_of_memory(MemoryError()), is_lack_of_memory(RuntimeError("std::bad_alloc"))
    (True, True)
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError) or (
            not isinstance(seen, InputError | RunError) and LACK_OF_MEMORY.search(str(seen))
        ):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


#: Known words that a message lists, at most.
LISTED = 20


def nearest(word: str, known: Iterable[str]) -> str:
    """Returns a hint that names the closest known words, for the end of an error message.

    >>> nearest("mask.pp", ["mask.p", "mask.q"])
    "did you mean 'mask.p'?"
    >>> nearest("x", ["gcn", "gat"])
    'choose one of gcn, gat'
    >>> nearest("lr", ["seed", "training.lr"])
    "did you mean 'training.lr'?"
    """
    options = list(known)
    ending = [option for option in options if option.endswith(f".{word}")]
    if hint := did_you_mean(ending[0] if ending else word, options):
        return hint
    more = f" and {len(options) - LISTED} more" if len(options) > LISTED else ""
    return "choose one of " + ", ".join(options[:LISTED]) + more


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns a hint that names the closest known word, an empty one where none is close.

    >>> did_you_mean("gnu-plot", ["gnuplot", "octave"]), did_you_mean("x", ["gnuplot"])
    ("did you mean 'gnuplot'?", '')
    """
    folded = {option.lower(): option for option in known}
    close = get_close_matches(word.lower(), folded, n=1, cutoff=0.5)
    return f"did you mean '{folded[close[0]]}'?" if close else ""
