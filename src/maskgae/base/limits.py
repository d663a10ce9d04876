"""How much memory this process may still take: of the machine, its container, its own limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil

from maskgae.base.errors import RunError

#: By the version of control groups: the folders of the hierarchy, and what is limit, use, and
#: cache within the use, which gives way.
GROUPS = {
    1: (("memory",), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: (("", "unified"), "memory.max", "memory.current", "inactive_file"),
}


#: Bytes without which native code ends the process, or waits for ever, where Python would fail:
#: OpenBLAS takes two buffers of 32 MiB, and every thread of Arrow 8 MiB for its stack.
LEAST = 192 * 2**20


def check_memory() -> None:
    """Refuses to begin with less memory than a failure could still be told in."""
    left = memory_left()
    if left < LEAST:
        raise RunError(
            f"there is not enough memory: {left / 2**20:.0f} MiB are left beside the libraries and "
            f"{LEAST / 2**20:.0f} MiB are the least: raise the limit (ulimit -v, the container's) "
            "or use a larger machine"
        )


def memory_left(root: Path = Path("/")) -> int:
    """Bytes, by the tightest of all limits.

    Args:
        root: where ``proc`` and ``sys`` are found.
    """
    machine = psutil.virtual_memory().available
    return max(0, min([machine, *_own_limits(), *_container_limits(root)]))


def _own_limits() -> Iterator[int]:
    """What ``ulimit -v`` and ``ulimit -d`` leave, where the system knows them and they are set."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    held = psutil.Process().memory_info()
    for limit, used in ((resource.RLIMIT_AS, held.vms), (resource.RLIMIT_DATA, _data(held))):
        most, _ = resource.getrlimit(limit)
        if most != resource.RLIM_INFINITY:
            yield most - used


def _data(held: object) -> int:
    return int(getattr(held, "data", 0))  # which macOS does not tell


def _container_limits(root: Path) -> Iterator[int]:
    """What the control groups of this process leave, its own one and all above it."""
    for version, place in _groups(root / "proc/self/cgroup"):
        heads, limit, used, cache = GROUPS[version]
        for head in heads:
            top = root / "sys/fs/cgroup" / head
            # A container may see the path of its host, of which the upper end alone is there.
            for group in (top / place, *(top / parent for parent in Path(place).parents)):
                most, now = _number(group / limit), _number(group / used)
                if most is not None and now is not None:
                    yield most - now + _stated(group / "memory.stat", cache)


def _groups(path: Path) -> Iterator[tuple[int, str]]:
    """Version and path of the control groups that may limit the memory."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, place = line.split(":", 2)
        if number == "0" or "memory" in controllers.split(","):
            yield 2 if number == "0" else 1, place.strip("/")


def _stated(path: Path, name: str) -> int:
    """A figure of a file of names and numbers, 0 where there is none."""
    try:
        figures = dict(line.split(" ", 1) for line in path.read_text().splitlines())
        return int(figures.get(name, 0))
    except (OSError, ValueError):
        return 0


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())  # "max" is no limit
    except (OSError, ValueError):
        return None
