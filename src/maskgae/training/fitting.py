"""Whether a snapshot fits the training run that would go on from it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from maskgae.base.errors import InputError
from maskgae.nn.network import MaskGAENet
from maskgae.training.state import Snapshot

#: What Adam keeps for a parameter: a count, and two moments of its shape.
COUNT, MOMENTS = "step", ("exp_avg", "exp_avg_sq")
#: What every row of a history has, beside what was validated.
ROW = {"epoch", "loss", "val_auc", "hidden_share", "visible_targets", "targets", "seconds"}


def check_snapshot(snapshot: Snapshot, net: MaskGAENet, averaged: bool, where: str) -> None:
    """Refuses a snapshot with which the training would fail or go wrong, whoever wrote it.

    Args:
        snapshot: what was read.
        net: the network that would go on.
        averaged: whether an average of its weights is kept.
        where: names the checkpoint in the error.
    """
    what = f"{where} does not fit this training run"
    for head, needed in (("net", True), ("best", False), ("average", averaged)):
        part = snapshot.part(head)
        if part or needed:
            net.check_state(part, what)
    wrong = _wrong_moments(snapshot, net) or _wrong_facts(snapshot, averaged)
    if wrong:
        raise InputError(
            f"{what}, as {wrong} is missing or not what it should be: start again with --force"
        )


def _wrong_moments(snapshot: Snapshot, net: MaskGAENet) -> str:
    for number, parameter in enumerate(net.parameters()):
        found = snapshot.part(f"optimizer.{number}")
        shapes = {name: tuple(value.shape) for name, value in found.items()}
        wanted = {COUNT: (), **dict.fromkeys(MOMENTS, tuple(parameter.shape))}
        same_type = all(value.dtype == parameter.dtype for value in found.values())
        if found and not (shapes == wanted and same_type):
            return f"optimizer.{number}"
    return ""


def _wrong_facts(snapshot: Snapshot, averaged: bool) -> str:
    facts = snapshot.facts
    rules = FACTS | ({"average_steps": _is_count} if averaged else {})
    for name, rule in rules.items():
        if not rule(facts.get(name)):
            return name
    return "" if len(facts["history"]) == facts["epoch"] else "history"


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= sys.maxsize


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_row(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() >= ROW
        and _is_number(value["loss"])
        and all(each is None or _is_number(each) for each in value.values())
    )


FACTS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("epoch", "step", "epoch_step", "epoch_targets"), _is_count),
    **dict.fromkeys(("epoch_loss", "epoch_seconds", "best_value"), _is_number),
    "best_epoch": lambda value: value == -1 or _is_count(value),
    "history": lambda value: isinstance(value, list) and all(map(_is_row, value)),
    "stopped": lambda value: isinstance(value, str),
}
