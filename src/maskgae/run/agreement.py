"""What every rank must be given alike: the graph, and what is wanted of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from maskgae.base.settings import WITHOUT_EFFECT, Settings
from maskgae.data.splits import LinkSplit
from maskgae.evaluation.outcome import versions
from maskgae.run.source import Source
from maskgae.training.identity import digest_of, feature_tensors


def digests(source: Source, **wishes: Any) -> dict[str, str]:
    """A short text for each thing that ranks may have been given differently, by its name.

    Args:
        source: what was read; of a store, which may be large, its own digest is taken.
        wishes: what else was asked for, by the name of the option.
    """
    found = {f"--{name}": _wish(wish) for name, wish in wishes.items()}
    found["versions"] = str(versions())
    if source.store is not None:
        return found | {"stores": source.store.digest}
    graph = source.graph
    parts: dict[str, list[Tensor | None]] = {
        "edges": [graph.pairs],
        "edge weights": [graph.weights],
        "features": [*feature_tensors(graph.inputs)],
        "labels": [graph.labels],
    }
    for name, tensors in parts.items():
        found[name] = digest_of(*(tensor for tensor in tensors if tensor is not None))
    names = "\0".join(map(str, source.ids.tolist())).encode(errors="backslashreplace")
    return found | {"ids": hashlib.blake2b(names, digest_size=8).hexdigest()}


def _wish(wish: Any) -> str:
    if isinstance(wish, Settings):
        wish = wish.flat()
    if isinstance(wish, LinkSplit):
        return digest_of(wish.train.pairs, wish.val, wish.test)
    if isinstance(wish, Mapping):
        if any(isinstance(value, Tensor) for value in wish.values()):
            return digest_of(*wish.values())
        return str(sorted((k, str(v)) for k, v in wish.items() if k not in WITHOUT_EFFECT))
    return str(wish)
