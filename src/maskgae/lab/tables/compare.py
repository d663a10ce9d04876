"""Our numbers beside published ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from maskgae.base.display import percent

#: Runs behind each published deviation, by the paper's own account.
PUBLISHED_RUNS = 10
#: Fewer runs say nothing of noise.
RUNS_ENOUGH = 3


def figure(summary: Mapping[str, Any] | None) -> str:
    """Mean and deviation in percent, or nothing where there is no number."""
    return "" if summary is None else percent(summary)


def compared(ours: Mapping[str, Any] | None, published: Mapping[str, float] | None) -> list[str]:
    """Ours, the published number, and their difference; bold where it is beyond noise."""
    if ours is None:
        return ["", "", ""]
    if published is None:
        return [figure(ours), "", ""]
    difference = f"{100 * (ours['mean'] - published['mean']):+.2f}"
    if beyond_noise(ours, published):
        difference = f"**{difference}**"
    return [figure(ours), figure(published), difference]


def beyond_noise(ours: Mapping[str, Any], published: Mapping[str, float]) -> bool:
    """Whether two means differ by more than twice the standard error of their difference."""
    if len(ours["values"]) < RUNS_ENOUGH:
        return False
    error = math.hypot(
        ours["std"] / math.sqrt(len(ours["values"])), published["std"] / math.sqrt(PUBLISHED_RUNS)
    )
    return abs(float(ours["mean"]) - published["mean"]) > 2 * error


def gain(gains: Mapping[str, Any]) -> str:
    """A mean difference with its standard error; bold where it is beyond twice that."""
    if gains["std"] is None:
        return f"{100 * gains['mean']:+.2f}"
    error = gains["std"] / math.sqrt(len(gains["values"]))
    text = f"{100 * gains['mean']:+.2f} ± {100 * error:.2f}"
    return f"**{text}**" if abs(gains["mean"]) > 2 * error else text
