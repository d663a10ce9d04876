"""The command line: parse, call, return a code."""

from __future__ import annotations

import sys

from maskgae.base.errors import InputError, RunError, is_lack_of_memory
from maskgae.cli import screen
from maskgae.cli.app import app

__all__ = ["app", "main"]


#: What to do where the memory is too small, by verb.
LESS = {
    "fit": "give --batch-pairs 1024 or fewer, lower encoder.hidden or encoder.dim, or ingest the "
    "edges first",
    "links": "lower --top, or ask for some nodes by --node",
    "score": "score fewer pairs at a time",
    **dict.fromkeys(("reproduce", "tune", "ablate"), "give fewer --jobs"),
}


def main() -> None:
    """Runs the command line; errors of ours, and of the system, become one line and a code."""
    screen.forget_no_width()
    try:
        app()
    except KeyboardInterrupt:
        screen.err.print("interrupted")
        sys.exit(130)
    except Exception as error:
        if is_lack_of_memory(error):
            screen.bare_error(_lack_of_memory())
            sys.exit(1)
        if not isinstance(error, InputError | RunError | OSError):
            raise
        screen.err.print(f"[bold red]error:[/] {screen.plain(str(error))}", soft_wrap=True)
        sys.exit(2 if isinstance(error, InputError) else 1)


def _lack_of_memory() -> str:
    less = next((LESS[word] for word in sys.argv[1:] if word in LESS), "close other programs")
    return f"there is not enough memory: {less}, or raise the limit, or use a larger machine"
