"""What the machine gives: the rates that a roofline divides by, measured in the same run."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from maskgae.base.dropout import random_bytes
from maskgae.base.rng import stream


def seconds(function: Callable[[], Any], repeats: int = 5) -> float:
    """The median time of a call, after one that does not count."""
    function()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def describe() -> dict[str, Any]:
    """Processor, threads and versions."""
    import torch_geometric

    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__,
    }


def rates(quick: bool = False) -> dict[str, float]:
    """Arithmetic, streaming, gathering and noise.

    ``gflops`` of a float32 matrix product; ``copy_gbs`` and ``cached_gbs``, read and written bytes
    of a copy of 256 MiB and of 1 MiB; ``touch_gbs``, written bytes of a large tensor whose pages
    are new to the process; ``gather_gbs`` and ``near_gbs``, gathered bytes of rows of 256 bytes
    from a table of 64 MiB and from one of 1 MiB; ``noise_gbs``, random bytes.
    """
    size = 512 if quick else 2048
    a, b = torch.rand(size, size), torch.rand(size, size)
    product = seconds(lambda: a @ b)
    source = torch.rand(2**20 if quick else 2**26)
    target = torch.empty_like(source)
    copy = seconds(lambda: target.copy_(source))
    small, small_target = source[: 2**18].clone(), target[: 2**18].clone()
    cached = seconds(lambda: [small_target.copy_(small) for _ in range(100)]) / 100
    fresh = seconds(lambda: torch.zeros_like(source).fill_(1.0))
    far, near = torch.rand(2**18, 64), torch.rand(2**12, 64)
    count = 2**17 if quick else 2**20
    return {
        "gflops": 2 * size**3 / product / 1e9,
        "copy_gbs": 8 * source.numel() / copy / 1e9,
        "cached_gbs": 8 * small.numel() / cached / 1e9,
        "touch_gbs": 4 * source.numel() / fresh / 1e9,
        "gather_gbs": 256 * count / seconds(_gathers(far, count)) / 1e9,
        "near_gbs": 256 * count / seconds(_gathers(near, count)) / 1e9,
        "noise_gbs": count / seconds(lambda: random_bytes(count, stream(0))) / 1e9,
    }


def _gathers(table: torch.Tensor, count: int) -> Callable[[], None]:
    index = torch.randint(table.shape[0], (count,)).split(2**13)
    out = torch.empty(2**13, table.shape[1])

    def run() -> None:
        for part in index:
            torch.index_select(table, 0, part, out=out)

    return run


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
