"""Files that are written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maskgae.errors import InputError, RunError


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary neighbour to write to, renamed to ``path`` when all went well.

    Its content is on the disk before the name changes, so after a crash the name stands for the
    old file or for the whole new one.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text file atomically."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, document: Any) -> None:
    """Writes a JSON document atomically, making its folder where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """A JSON document, or an error that names the file."""
    return read_with(path, lambda p: json.loads(p.read_text(encoding="utf-8")), "JSON")


def read_with(path: Path, reader: Callable[[Path], Any], kind: str) -> Any:
    """Reads a file of ours; what is missing or broken is an error that names it."""
    try:
        return reader(path)
    except FileNotFoundError:
        raise InputError(
            f"{path} is missing: is {path.parent} a folder that 'fit' wrote?"
        ) from None
    except (ValueError, KeyError, RecursionError, EOFError) as error:
        raise InputError(f"{path} is not a {kind} file that maskgae wrote: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
