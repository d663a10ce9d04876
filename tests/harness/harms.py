"""What can be done to a file of a run folder or a store."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from tests.harness.fuzz import TOKENS, changed

from maskgae.base.errors import InputError
from maskgae.base.tensors import read_tensors, write_tensors


def missing(random: Random, path: Path, home: Path) -> None:
    path.unlink()


def empty(random: Random, path: Path, home: Path) -> None:
    path.write_bytes(b"")


def folder(random: Random, path: Path, home: Path) -> None:
    path.unlink()
    path.mkdir()


def fifo(random: Random, path: Path, home: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def socket_(random: Random, path: Path, home: Path) -> None:
    path.unlink()
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def link(random: Random, path: Path, home: Path) -> None:
    """To a device, to nothing, to itself, or to a file of somebody else."""
    path.unlink()
    targets = ("/dev/zero", "/dev/null", "/dev/full", "/nowhere", path.name, home / "bystander")
    path.symlink_to(random.choice(targets))


def huge(random: Random, path: Path, home: Path) -> None:
    """Grows to a size that no memory holds, of which the disk has nothing."""
    os.truncate(path, random.choice([1 << 31, 1 << 40]))


def other(random: Random, path: Path, home: Path) -> None:
    """Has the content of another file."""
    others = sorted(other for other in (home / "good").rglob("*") if other.is_file())
    path.write_bytes(random.choice(others).read_bytes())


def edit(random: Random, path: Path, home: Path) -> None:
    """Some bytes are others."""
    with path.open("rb") as file:  # which may be huge already
        content = file.read(1 << 20)
    path.write_bytes(changed(random, content, [(".bin", bytes(99))]))


def rewrite(random: Random, path: Path, home: Path) -> None:
    """The content changes and the form stays."""
    ways = {".json": _json, ".safetensors": _tensors, ".npy": _array, ".toml": _line, ".csv": _line}
    if path.stat().st_size > 1 << 20 or path.suffix not in ways:
        return edit(random, path, home)
    try:
        ways[path.suffix](random, path)
    except (ValueError, LookupError, EOFError, InputError):  # of a file that was harmed before
        edit(random, path, home)


VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31, 2**63, 10**30, 1e308, "", "x" * 9999, [], {}, [[[]]], {"a": 1}),
    *("../../bystander", "/dev/zero", "\x1b[2J", "[red]", [None], [-1], {"": {}}, "nan"),
)


def _json(random: Random, path: Path) -> None:
    """Another value in a document."""
    path.write_text(json.dumps(_other_document(random, json.loads(path.read_text()))))


def _line(random: Random, path: Path) -> None:
    """Another cell or value in some line."""
    lines = path.read_bytes().split(b"\n")
    row = random.randrange(len(lines))
    key, equals, _ = lines[row].partition(b"=" if path.suffix == ".toml" else b",")
    lines[row] = key + equals + random.choice(TOKENS)
    path.write_bytes(b"\n".join(lines))


def _other_document(random: Random, document: Any) -> Any:
    """Another value at some place of a document."""
    owner, key, value = None, None, document
    while isinstance(value, dict | list) and value and (owner is None or random.random() < 0.7):
        owner = value
        key = random.choice(list(value) if isinstance(value, dict) else range(len(value)))
        value = owner[key]
    if owner is None:
        return random.choice(VALUES)
    if isinstance(owner, dict) and random.random() < 0.3:
        owner.pop(key)
    else:
        owner[key] = random.choice(VALUES)
    return document


def _tensors(random: Random, path: Path) -> None:
    """Other tensors or facts, with a checksum that fits."""
    tensors, about = read_tensors(path)
    name, kind = random.choice(sorted(tensors)), random.randrange(5)
    if kind == 0:
        del tensors[name]
    elif kind == 1:
        tensors[name] = tensors[name].repeat(*[2] * max(1, tensors[name].ndim))
    elif kind == 2:
        tensors[name] = tensors[name].to(random.choice([torch.int64, torch.float64, torch.bool]))
    elif kind == 3:
        value = random.choice([float("nan"), float("inf"), 0.0, -1e38])
        tensors[name] = torch.full_like(tensors[name].float(), value)
    else:
        about = _other_document(random, about)
    write_tensors(path, tensors, about)


def _array(random: Random, path: Path) -> None:
    """Other numbers, shapes or types in an array."""
    array = np.load(path, allow_pickle=False)
    kind = random.randrange(6)
    if kind == 0 and array.size:
        values = [-1, 0, 1, 2**31 - 1] + [np.nan, np.inf, 1e38] * (array.dtype.kind == "f")
        array.reshape(-1)[random.randrange(array.size)] = random.choice(values)
    elif kind == 1:
        array = array.astype(random.choice(["<i8", "<f8", ">i4", "<u1", "<U9", "<c16", "?"]))
    elif kind == 2:
        array = array[..., : random.randrange(array.shape[-1] + 1)] if array.ndim else array
    elif kind == 3:
        array = array.reshape(-1)
    elif kind == 4:
        array = np.ascontiguousarray(array[..., ::-1])
    else:
        array = np.concatenate([array, array], axis=-1) if array.ndim else array
    with path.open("wb") as file:
        np.save(file, array)


#: Edits are the most likely, as there are so many.
HARMS = (missing, empty, folder, fifo, socket_, link, huge, other, *[edit] * 5, *[rewrite] * 5)
