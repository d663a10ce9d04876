"""Which kind of processor this is."""

from __future__ import annotations

import platform
from contextlib import suppress
from functools import cache
from pathlib import Path

import torch


@cache
def processor() -> str:
    """Which kind of processor this is: libraries choose their instructions, and so digits, by it.

    Maker, family and model where the system tells them, and the instructions that torch uses.
    """
    found = {"vendor_id": platform.machine(), "cpu family": "", "model": ""}
    with suppress(OSError):  # elsewhere than on Linux
        lines = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
        told = {name.strip(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
        found = {name: told.get(name, value) for name, value in found.items()}
    words = (*found.values(), torch.backends.cpu.get_cpu_capability())
    return " ".join(word for word in words if word)
