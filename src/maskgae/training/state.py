"""Where a training run stands, and how to put it there again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor, nn

from maskgae.training.average import Average


@dataclass
class TrainingState:
    """All that a training run has to know beside weights, optimiser and average.

    Randomness has an address, so there is no generator to remember.

    Args:
        epoch: epochs that are done.
        step: updates that are done, of all epochs.
        epoch_step: updates of the current epoch that are done.
        epoch_loss: the sum of their losses.
        epoch_seconds: what they took.
        epoch_targets: the targets they learnt from.
        best_value: the best validation so far.
        best_epoch: when it was.
        best_weights: the weights of that time, where the best are to be kept.
        history: a row for each epoch.
        stopped: why the training ended, empty while it has not.
    """

    epoch: int = 0
    step: int = 0
    epoch_step: int = 0
    epoch_loss: float = 0.0
    epoch_seconds: float = 0.0
    epoch_targets: int = 0
    best_value: float = float("-inf")
    best_epoch: int = -1
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    stopped: str = ""


@dataclass(frozen=True)
class Snapshot:
    """A training run at one moment: tensors by name, and the rest as JSON has it."""

    tensors: Mapping[str, Tensor]
    facts: Mapping[str, Any]

    def part(self, head: str) -> dict[str, Tensor]:
        """The tensors below a name, such as ``net``."""
        start = f"{head}."
        return {k.removeprefix(start): v for k, v in self.tensors.items() if k.startswith(start)}


SCALARS = tuple(item.name for item in fields(TrainingState) if item.name != "best_weights")


def take_snapshot(
    state: TrainingState,
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: Average | None = None,
) -> Snapshot:
    """What a training run needs to go on as if it had never stopped; shares its tensors."""
    parts: dict[str, Mapping[str, Tensor]] = {"net": net.state_dict(), "best": state.best_weights}
    for number, values in optimizer.state_dict()["state"].items():
        parts[f"optimizer.{number}"] = values
    facts: dict[str, Any] = {name: getattr(state, name) for name in SCALARS}
    if average is not None:
        parts["average"], facts["average_steps"] = average.state, average.steps
    tensors = {f"{head}.{name}": v for head, part in parts.items() for name, v in part.items()}
    return Snapshot(tensors, facts)


def restore(
    snapshot: Snapshot,
    state: TrainingState,
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: Average | None = None,
) -> None:
    """Puts a training run where a snapshot was taken."""
    device = next(net.parameters()).device
    net.load_state_dict(snapshot.part("net"))
    moments = {i: snapshot.part(f"optimizer.{i}") for i, _ in enumerate(net.parameters())}
    kept = {number: values for number, values in moments.items() if values}
    optimizer.load_state_dict({**optimizer.state_dict(), "state": kept})
    state.best_weights = {k: v.to(device) for k, v in snapshot.part("best").items()}
    for name in SCALARS:
        setattr(state, name, snapshot.facts[name])
    if average is not None:
        average.state = {k: v.to(device) for k, v in snapshot.part("average").items()}
        average.steps = snapshot.facts["average_steps"]
