"""The command line: parse, call, return a code."""

from __future__ import annotations

import sys

from maskgae.base.errors import InputError, RunError
from maskgae.cli import screen
from maskgae.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Runs the command line; errors of ours become one line and an exit code."""
    try:
        app()
    except (InputError, RunError) as error:
        screen.err.print(f"[bold red]error:[/] {screen.plain(str(error))}", soft_wrap=True)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except (OSError, MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "can't allocate memory" not in str(error):
            raise
        reason = str(error) if isinstance(error, OSError) else "there is not enough memory"
        screen.err.print(f"[bold red]error:[/] {screen.plain(reason)}", soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        screen.err.print("interrupted")
        sys.exit(130)
