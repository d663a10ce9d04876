"""What one run of one seed gave, and where."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from maskgae.base.processor import processor

Metrics = Mapping[str, float]

#: The software that decides a result to the last digit.
PACKAGES = ("maskgae", "torch", "torch-geometric", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Which software this is; what is not installed took no part."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def made_with() -> dict[str, str]:
    """What a result has its last digits from: :func:`versions` and
    :func:`~maskgae.base.processor.processor`."""
    return versions() | {"processor": processor()}


def peak_rss_mb() -> float:
    """The largest resident memory of this process since :func:`forget_peak`, in MiB."""
    return round(_peak_kib() / 1024, 1)


def _peak_kib() -> float:
    with suppress(OSError, IndexError, ValueError):  # Linux's own mark, which can be forgotten
        return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
    try:
        import resource
    except ImportError:  # on Windows
        import psutil

        memory = psutil.Process().memory_info()
        return float(getattr(memory, "peak_wset", memory.rss)) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform == "darwin" else peak


def forget_peak() -> None:
    """Lets the highest mark fall to the present where the system can, which is on Linux."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


@dataclass(frozen=True)
class Outcome:
    """What one seed gave: metrics, the heuristic baselines' beside them, audit, facts, costs."""

    seed: int
    metrics: Metrics
    sanity: Mapping[str, Metrics]
    audit: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    time_s: Mapping[str, float] = field(default_factory=dict)
    peak_rss_mb: float = field(default_factory=peak_rss_mb)
    versions: Mapping[str, str] = field(default_factory=made_with)
    threads: int = field(default_factory=torch.get_num_threads)


def mask_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What an audit tells of the masks, where there were any."""
    return {key: facts[key] for key in ("hidden_share", "visible_targets") if key in facts}
