"""One process at a time in a folder."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from maskgae.base.errors import InputError, RunError
from maskgae.base.files import sweep

#: The file in the folder that is locked; it holds the number of the process.
LOCK = ".lock"
#: Seconds between two attempts of whoever waits.
PAUSE = 0.02


@contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Holds a folder against other processes, and makes it where there is none.

    The operating system lets go of the lock when its process ends, however it ends. What a dead
    one left half-written is swept up first; a folder made for nothing goes away again.

    Args:
        wait: for whoever holds the folder, instead of failing.
    """
    path, made = folder / LOCK, not folder.exists()
    # The hook gets the locked file itself, whatever has become of its name.
    lock = FileLock(path, blocking=False, fallback_to_soft=False, on_acquired=_sign)
    try:
        _check_ours(path)
        _acquire(lock, path, wait)
    except OSError as error:
        raise InputError(
            f"{path} could not be locked ({error.strerror}): choose another place"
        ) from error
    try:
        sweep(folder)
        yield
    finally:
        with suppress(OSError):  # on Windows a locked file stays, and the release removes it
            path.unlink()
        lock.release()
        if made:
            with suppress(OSError):
                folder.rmdir()  # which does nothing to one that has something in it


def _check_ours(path: Path) -> None:
    """Refuses what no lock is, since the number of the process is written over it."""
    try:
        found = path.lstat()
        if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1 and _is_number(path, found.st_size):
            return
    except FileNotFoundError:
        return
    raise InputError(
        f"{path} must be a file with the number of a process, and it is something else: nothing "
        "was touched; choose another folder"
    )


def _is_number(path: Path, size: int) -> bool:
    try:
        text = path.read_bytes() if size <= 20 else b"more"
    except PermissionError:  # as Windows answers where the file is locked
        return True
    return not text or text.isdigit()


def _acquire(lock: FileLock, path: Path, wait: bool) -> None:
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
            return
        except FileNotFoundError:  # its holder has just removed the folder, too
            holder = None
        except Timeout:
            holder = _holder(path)
        if wait:
            time.sleep(PAUSE)
        elif holder is not None:  # else it was removed just now, with the lock
            raise RunError(
                f"{path.parent} is in use by another run (process {holder}): wait for it to end, "
                "or choose another folder"
            )


def _holder(path: Path) -> str | None:
    """The process that a lock names; none where the lock is gone."""
    try:
        return path.read_bytes()[:20].decode(errors="replace") or "unknown"
    except FileNotFoundError:
        return None
    except OSError:
        return "unknown"


def _sign(handle: int) -> None:
    with suppress(OSError):  # on a full disk the lock holds without its holder's number
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
