"""Settings as text: TOML files, and ``key=value`` on the command line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maskgae.base.errors import InputError

#: A larger file holds no settings, nor does a longer line; dotted keys take the square of their
#: length, in time and in memory.
MAX_SETTINGS_BYTES, MAX_SETTINGS_LINE = 64 << 10, 4 << 10


def parse_assignment(text: str) -> tuple[str, Any]:
    """Splits ``key=value`` as given to ``--set``; the value is read as TOML, else as a word.

    >>> parse_assignment("mask.p=0.5"), parse_assignment("encoder.kind=gat")
    (('mask.p', 0.5), ('encoder.kind', 'gat'))
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set takes key=value, such as mask.p=0.5, not '{text}'")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return key.strip(), value.strip()


def interval(text: str) -> tuple[int, int]:
    """Epochs and seconds of ``training.checkpoint_every``; one of them is 0.

    >>> interval("10"), interval("60s")
    ((10, 0), (0, 60))
    """
    return (0, int(text[:-1])) if text.endswith("s") else (int(text), 0)


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested TOML tables as dotted keys.

    >>> flatten({"seed": 1, "mask": {"p": 0.5}})
    {'seed': 1, 'mask.p': 0.5}
    """
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat


#: Settings that are gone, with the value that is in force since: old files may state it.
REMOVED = {"mask.walks": 1}


def read_toml(path: Path) -> dict[str, Any]:
    """The settings of a TOML file by dotted key."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a FIFO would never end
            raise ValueError("it is no regular file")
        with path.open("rb") as file:
            content = file.read(MAX_SETTINGS_BYTES + 1)
        longest = max(map(len, content.splitlines()), default=0)
        if len(content) > MAX_SETTINGS_BYTES or longest > MAX_SETTINGS_LINE:
            raise ValueError("they have at most 64 KiB, and 4 KiB a line")
        found = flatten(tomllib.loads(content.decode()))
        return {key: value for key, value in found.items() if REMOVED.get(key) != value}
    except OSError as error:
        raise InputError(f"cannot read the settings file {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # of TOML, of UTF-8, of numbers without end
        raise InputError(f"{path} is not a TOML file of settings: {error}") from None


def to_toml(flat: Mapping[str, Any]) -> str:
    """Settings by dotted key as a TOML document, which :func:`read_toml` reads back.

    >>> print(to_toml({"seed": 1, "mask.p": 0.5}), end="")
    seed = 1
    <BLANKLINE>
    [mask]
    p = 0.5
    """
    lines: list[str] = []
    section = ""
    for key, value in flat.items():
        head, _, name = key.rpartition(".")
        if head != section:
            section = head
            lines += ["", f"[{section}]"]
        lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"
