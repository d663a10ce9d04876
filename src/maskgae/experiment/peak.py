"""How much memory a run took at most."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path


def peak_rss_mb() -> float:
    """The largest resident memory of this process since :func:`forget_peak`, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 1024), 1)


def forget_peak() -> None:
    """Lets the highest mark fall to the present where the system can, which is on Linux."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
