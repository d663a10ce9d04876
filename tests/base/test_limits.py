"""Memory that is left: by the tightest of the limits that a process is under."""

from pathlib import Path

import pytest

from maskgae.base import limits
from maskgae.base.errors import RunError
from maskgae.base.limits import check_memory, memory_left

MIB = 2**20


def files(root: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


SECOND = "sys/fs/cgroup"
FIRST = "sys/fs/cgroup/memory"


@pytest.mark.parametrize(
    ("texts", "left"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/a/b\n"}, None),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                f"{SECOND}/a/b/memory.max": "max\n",
                f"{SECOND}/a/b/memory.current": f"{9 * MIB}\n",
                f"{SECOND}/a/memory.max": f"{50 * MIB}\n",
                f"{SECOND}/a/memory.current": f"{20 * MIB}\n",
                f"{SECOND}/a/memory.stat": f"anon 1\ninactive_file {5 * MIB}\n",
            },
            35 * MIB,
        ),
        (
            {
                "proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/abc\n0::/\n",
                f"{FIRST}/memory.limit_in_bytes": f"{30 * MIB}\n",
                f"{FIRST}/memory.usage_in_bytes": f"{10 * MIB}\n",
                f"{FIRST}/memory.stat": f"total_inactive_file {1 * MIB}\n",
            },
            21 * MIB,
        ),
        (
            {
                "proc/self/cgroup": "0::/\n",
                f"{SECOND}/memory.max": f"{MIB}\n",
                f"{SECOND}/memory.current": f"{2 * MIB}\n",
            },
            0,
        ),
    ],
    ids=["none", "nothing there", "of the group above", "of a container, version 1", "used up"],
)
def test_control_groups_count(tmp_path: Path, texts: dict[str, str], left: int | None) -> None:
    found = memory_left(files(tmp_path, texts))
    assert found > 100 * MIB if left is None else found == left


def test_too_little_to_fail_in_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_memory()
    monkeypatch.setattr(limits, "memory_left", lambda: 5 * MIB)
    with pytest.raises(RunError, match="5 MiB are left beside the libraries and 192 MiB"):
        check_memory()
