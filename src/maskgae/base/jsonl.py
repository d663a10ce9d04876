"""Files of JSON documents, one on each line, that only grow.

A process that dies in the middle of an append leaves a last line without its end. It is no line:
readers pass over it, and the next append takes its place.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

from maskgae.base.errors import InputError, RunError
from maskgae.base.files import flush_folder


def append_json(path: Path, document: Any) -> None:
    """Adds a line, wholly or not at all; one writer at a time, which is for the caller to see to.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     append_json(Path(folder, "a.jsonl"), {"seed": 0})
    ...     append_json(Path(folder, "a.jsonl"), {"seed": 1})
    ...     read_lines(Path(folder, "a.jsonl"))
    [{'seed': 0}, {'seed': 1}]
    """
    line = json.dumps(document, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    try:
        with FileIO(path, "a+") as file:
            _add(file, path, line)
        flush_folder(path.parent)
    except OSError as error:
        raise RunError(
            f"{path} could not be written ({error.strerror or error}), and what was there before "
            "is unchanged: make room or choose another place"
        ) from error


def _add(file: FileIO, path: Path, line: bytes) -> None:
    file.seek(0)
    there = file.readall()
    whole = _whole(there)
    end = min(len(whole), len(there))
    rest = whole[end:] + line
    try:
        file.truncate(end)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            if end:
                file.truncate(end)
            else:
                path.unlink()
        raise


def read_lines(path: Path) -> list[Any]:
    """The document of each line; one that is none is an error that names file and line."""
    try:
        lines = _whole(path.read_bytes()).split(b"\n")[:-1]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            found.append(json.loads(line))
        except ValueError as error:
            raise InputError(
                f"{path}, line {number} is no JSON ({error}): mend or remove the line"
            ) from None
    return found


def _whole(data: bytes) -> bytes:
    """All lines with their ends; a last one without its own counts if it is a document."""
    head, end, last = data.rpartition(b"\n")
    try:
        json.loads(last)
    except ValueError:
        return head + end
    return data + b"\n"
