"""One process at a time in a folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from maskgae.base.errors import InputError, RunError
from maskgae.base.files import sweep

#: The file in the folder that is locked; it holds the number of the process.
LOCK = ".lock"


@contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Holds a folder against other processes, and makes it where there is none.

    The operating system lets go of the lock when its process ends, however it ends. What a dead
    one left half-written is swept up first; a folder made for nothing goes away again.

    Args:
        wait: for whoever holds the folder, instead of failing.
    """
    path, made = folder / LOCK, not folder.exists()
    try:
        handle = _acquire(path, wait)
        while not _same_file(handle, path):  # its holder removed it, or its folder too
            os.close(handle)
            handle = _acquire(path, wait)
    except OSError as error:
        raise InputError(
            f"{path} could not be locked ({error.strerror}): choose another place"
        ) from error
    try:
        sweep(folder)
        yield
    finally:
        with suppress(OSError):
            path.unlink()
            if made:
                folder.rmdir()  # which does nothing to one that has something in it
        os.close(handle)


def _acquire(path: Path, wait: bool) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(handle, 20).decode(errors="replace") or "unknown"
        os.close(handle)
        raise RunError(
            f"{path.parent} is in use by another run (process {holder}): wait for it to end, or "
            "choose another folder"
        ) from None
    with suppress(OSError):  # on a full disk the lock holds without its holder's number
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
    return handle


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
