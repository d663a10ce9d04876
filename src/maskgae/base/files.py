"""Files that are written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from maskgae.base.errors import InputError, RunError


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary neighbour to write to, which takes the place of ``path`` when all went well.

    Its content is on the disk before the name changes, so after a crash the name stands for the
    old file or for the whole new one.
    """
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        try:
            yield temporary
            with temporary.open("r+b") as file:  # Windows flushes only what may be written
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        flush_folder(path.parent)
    except OSError as error:
        raise RunError(
            f"{path} could not be written ({error.strerror or error}), and what was there before "
            "is unchanged: make room or choose another place"
        ) from error


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Work on files below a folder, of which one that fails ends it in a line that names it."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{error.filename or folder} could not be written ({error.strerror or error}): "
            "make room, and begin again with the same command"
        ) from error


#: What :func:`atomic` calls its temporary files.
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")


def sweep(folder: Path) -> None:
    """Removes what a process that died left half-written in a folder and in those below it."""
    for path in (*folder.glob(".*.tmp"), *folder.glob("*/.*.tmp")):
        if TEMPORARY.fullmatch(path.name):
            with suppress(OSError):
                path.unlink()


def check_readable(*paths: Path | None) -> None:
    """Refuses files and folders that are not there or cannot be read, before any work."""
    for path in paths:
        if path is None:
            continue
        if not path.exists():
            raise InputError(f"{path} does not exist: check the path")
        if not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} must be a file or a folder, but it is neither")
        if not os.access(path, os.R_OK):
            raise InputError(f"{path} cannot be read: check its permissions")


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_folder(path: Path, *, parents: bool = False) -> None:
    """Makes a folder where it does not exist; those above it only if asked to."""
    try:
        path.mkdir(parents=parents, exist_ok=True)
    except OSError as error:
        raise RunError(
            f"the folder {path} could not be made ({error.strerror}): choose another place"
        ) from error


def flush_folder(folder: Path) -> None:
    """Makes the new name last; not every file system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Writes a text file atomically."""
    with atomic(path) as temporary:
        # A lone surrogate, as a name may hold one, is written as its escape.
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def write_json(path: Path, document: Any) -> None:
    """Writes a JSON document atomically, making its folder where there is none."""
    make_folder(path.parent, parents=True)
    write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """A JSON document, or an error that names the file."""
    return read_with(path, lambda p: json.loads(p.read_text(encoding="utf-8")), "JSON")


#: What a text file of ours holds at most, and the kinds that are mapped instead of read.
TEXT_BYTES, MAPPED = 64 * 2**20, ("safetensors", "NumPy")


def read_with(path: Path, reader: Callable[[Path], Any], kind: str) -> Any:
    """Reads a file of ours; what is missing or broken is an error that names it."""
    try:
        if path.exists() and not path.is_file():  # a FIFO would never end
            raise InputError(f"{path} must be a regular file, and it is something else")
        if kind not in MAPPED and path.stat().st_size > TEXT_BYTES:
            most = TEXT_BYTES // 2**20
            raise InputError(f"{path} is larger than the {most} MiB that maskgae writes there")
        return reader(path)
    except InputError:  # which says it already
        raise
    except FileNotFoundError:
        raise InputError(
            f"{path} is missing: is {path.parent} a folder that 'fit' wrote?"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, EOFError) as error:
        raise InputError(f"{path} is not a {kind} file that maskgae wrote: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
