"""The command line: parse, call, return a code."""

from __future__ import annotations

import sys

from maskgae.cli import ablate, evaluate, reproduce, screen, show, tune
from maskgae.cli.app import app
from maskgae.errors import InputError, RunError

__all__ = ["ablate", "app", "evaluate", "main", "reproduce", "show", "tune"]


def main() -> None:
    """Runs the command line; errors of ours become one line and an exit code."""
    try:
        app()
    except (InputError, RunError) as error:
        screen.err.print(f"[bold red]error:[/] {_plain(str(error))}", soft_wrap=True)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except KeyboardInterrupt:
        screen.err.print("interrupted")
        sys.exit(130)


def _plain(text: str) -> str:
    """A message as it is: no markup, no control characters."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else repr(c)[1:-1] for c in text))
