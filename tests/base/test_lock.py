"""One process a folder; the dead hold nothing."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from maskgae.base.errors import InputError, RunError
from maskgae.base.lock import LOCK, locked


def test_the_second_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "run"),
        pytest.raises(RunError, match=f"in use by another run .process {os.getpid()}"),
        locked(tmp_path / "run"),
    ):
        pass
    with locked(tmp_path / "run"):
        assert (tmp_path / "run" / LOCK).read_text() == str(os.getpid())


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    with locked(tmp_path / "a" / "run"):
        assert (tmp_path / "a" / "run").is_dir()
    assert not (tmp_path / "a" / "run").exists()
    (tmp_path / "own").mkdir()
    with locked(tmp_path / "own"):
        pass
    assert (tmp_path / "own").is_dir() and not list((tmp_path / "own").iterdir())
    with locked(tmp_path / "full"):
        (tmp_path / "full" / "result").write_text("kept")
    assert (tmp_path / "full" / "result").exists()


def test_a_dead_process_holds_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, time, pathlib; from maskgae.base.lock import locked\n"
        "with locked(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(RunError, match=f"process {process.pid}"), locked(tmp_path):
            pass
        process.send_signal(signal.SIGKILL)
    half, kept = tmp_path / ".model.safetensors.0123abcd.tmp", tmp_path / ".hidden"
    half.write_text("half"), kept.write_text("the user's")
    with locked(tmp_path):
        assert not half.exists() and kept.exists()


def test_one_may_wait_for_the_other(tmp_path: Path) -> None:
    """Even for one that makes the folder, leaves it empty and takes it away again."""
    run, order = tmp_path / "run", []

    def second() -> None:
        with locked(run, wait=True):
            order.append("second")

    thread = threading.Thread(target=second)
    with locked(run):
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_what_cannot_be_locked_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match=r"file/run/\.lock could not"),
        locked(tmp_path / "file/run"),
    ):
        pass


@pytest.mark.parametrize("kind", ["link", "dangling", "hard link", "pipe", "folder", "file"])
def test_what_is_no_lock_is_left_alone(tmp_path: Path, kind: str) -> None:
    folder, thesis = tmp_path / "run", tmp_path / "thesis.txt"
    folder.mkdir()
    path = folder / LOCK
    thesis.write_text("years of work")
    makes: dict[str, Callable[[], object]] = {
        "link": lambda: path.symlink_to(thesis),
        "dangling": lambda: path.symlink_to(tmp_path / "nothing"),
        "hard link": lambda: path.hardlink_to(thesis),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "file": lambda: path.write_text("the user's"),
    }
    makes[kind]()
    before = path.lstat()
    with pytest.raises(InputError, match=r"\.lock .*nothing was touched"), locked(folder):
        pass
    assert thesis.read_text() == "years of work" and not (tmp_path / "nothing").exists()
    after = path.lstat()
    assert os.path.samestat(before, after) and before.st_size == after.st_size


def test_a_link_that_comes_in_between_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    (tmp_path / LOCK).symlink_to(tmp_path / "thesis.txt")
    monkeypatch.setattr("maskgae.base.lock._check_ours", lambda path: None)
    with pytest.raises(InputError, match="could not be locked"), locked(tmp_path):
        pass
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_lock_that_is_removed_while_it_is_taken_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tries = os.open, []

    def removing(path: str, *how: int) -> int:
        handle = real(path, *how)
        if str(path).endswith(LOCK):
            tries.append(path)
            if len(tries) == 1:
                Path(path).unlink()
        return handle

    monkeypatch.setattr(os, "open", removing)
    with locked(tmp_path):
        assert len(tries) == 2 and (tmp_path / LOCK).read_text() == str(os.getpid())
