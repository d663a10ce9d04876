"""Tensors in one safetensors file, written whole, with a checksum of all that it says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, uint8

from maskgae.base.files import atomic, read_with

#: The only entry of the metadata: safetensors writes several in any order, one is always the same.
ENTRY = "maskgae"


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Writes tensors by name, and what JSON can say about them; equal content is equal bytes."""
    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    entry = json.dumps({"checksum": _checksum(plain, about), "about": about})
    content = save(plain, metadata={ENTRY: entry})
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors by name and what was said about them; a file that has changed is refused."""
    tensors, about = read_with(path, _read, "safetensors")
    return tensors, about


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, "pt") as file:
            # Copies, since the file may be replaced while they are in use.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata() or {}
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    entry = json.loads(metadata.get(ENTRY, "{}"))
    if not isinstance(entry, dict) or not isinstance(entry.get("about"), dict):
        raise ValueError("it does not say what it is about")
    if entry.get("checksum") != _checksum(tensors, entry["about"]):
        raise ValueError("its content does not match its checksum, so it was damaged")
    return tensors, entry["about"]


def _checksum(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> str:
    digest = hashlib.blake2b(json.dumps(about).encode(), digest_size=16)
    for name in sorted(tensors):
        value = tensors[name]
        digest.update(f"\n{name} {value.dtype} {list(value.shape)}\n".encode())
        digest.update(content(value))
    return digest.hexdigest()


def content(tensor: Tensor) -> memoryview:
    """The bytes of a tensor, row by row.

    >>> bytes(content(Tensor([1.0]).expand(2))) == bytes(content(Tensor([1.0, 1.0])))
    True
    """
    flat = tensor.detach().cpu().reshape(-1).contiguous()
    # A single number, or none, may have any stride and passes for contiguous.
    return flat.as_strided((flat.numel(),), (1,)).view(uint8).numpy().data
