"""A small timer that wraps functions and tells whose time it was.

Wrapped functions may call each other: a second belongs to the innermost one, so the parts of a
list add up to the whole. Only an evaluation keeps what it calls: its encoder is not the step's.
"""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

import maskgae.base.dropout
import maskgae.data.features
import maskgae.nn.decoder_kernels
import maskgae.nn.decoders
import maskgae.nn.network
from maskgae.data.csr import CSR
from maskgae.data.features import SparseFeatures
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.encoder import Encoder
from maskgae.nn.network import MaskGAENet
from maskgae.training.loop import Trainer
from maskgae.training.steps import Steps

Targets = Mapping[str, Sequence[tuple[Any, str]]]

#: The stages of a step, in their order.
STAGES: Targets = {
    "mask": [(Steps, "mask")],
    "select": [(Adjacency, "of")],
    "negatives": [(Steps, "negatives")],
    "encoder forward": [(Encoder, "forward"), (Encoder, "last")],
    "decoder and loss": [(maskgae.nn.network, "pair_loss")],
    "degree loss": [(MaskGAENet, "loss")],  # what is left of it
    "backward": [(torch.Tensor, "backward")],
    "optimiser": [(Trainer, "_update")],
    "evaluation": [(Trainer, "_validate")],
}

#: What the stages are made of, whichever of them it is in.
INSIDE: Targets = {
    "sparse products": [(CSR, "matmul")],
    "dropout": [
        (SparseFeatures, "dropout"),
        (maskgae.data.features, "dropout"),
        (maskgae.nn.decoders, "dropout"),
        (maskgae.nn.decoder_kernels, "fill_kept"),
        (maskgae.base.dropout, "_kept"),
    ],
}


#: Parts that own whatever runs inside them.
CLOSED = ("evaluation",)


class Parts:
    """Seconds by part."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._open: list[str] = []
        self._since = 0.0

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def enter(self, name: str) -> None:
        self._turn()
        within_closed = self._open and self._open[-1] in CLOSED
        self._open.append(self._open[-1] if within_closed else name)

    def leave(self) -> None:
        self._turn()
        self._open.pop()

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self.enter(name)
            try:
                return function(*args, **kwargs)
            finally:
                self.leave()

        return timed


@contextmanager
def timed_parts(targets: Targets) -> Iterator[Parts]:
    """Wraps the given functions of modules and classes, and restores them after."""
    parts, kept = Parts(), []
    for name, places in targets.items():
        for owner, attribute in places:
            raw = vars(owner)[attribute]
            kept.append((owner, attribute, raw))
            bound = isinstance(raw, classmethod)
            inner = parts.wrapped(name, raw.__func__ if bound else raw)
            setattr(owner, attribute, classmethod(inner) if bound else inner)
    try:
        yield parts
    finally:
        for owner, attribute, raw in kept:
            setattr(owner, attribute, raw)
