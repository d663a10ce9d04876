"""A run or a store in the place of another: built beside it, swapped when it is complete.

===================  ====================================================================
.maskgae-new/        the new one, while it is built; the old one is whole
.maskgae-ready/      the new one, complete; what it does not replace is being removed
.maskgae-moving/     the new one, while its files are moved to their places
===================  ====================================================================

All of them lie in the folder itself, under its lock, and one becomes the next by being renamed. A
swap that was cut off is finished by whoever opens the folder next, so what a crash leaves is the
old one, with what there is of the new one beside it, or the new one.

What belongs to a run or a store is a list of files; the last one makes it complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from maskgae.base.files import flush_folder, sweep, writing
from maskgae.base.lock import locked

NEW, READY, MOVING = ASIDE = (".maskgae-new", ".maskgae-ready", ".maskgae-moving")


@contextmanager
def replacing(folder: Path, files: Sequence[str], *, anew: bool) -> Iterator[Path]:
    """Where to build, in a folder that is locked and settled; what is complete takes its place.

    Args:
        folder: where the result belongs.
        files: what may belong to it, the file that makes it complete last.
        anew: whether a complete one is replaced; else one that is being replaced goes on.
    """
    aside = folder / NEW
    if not _is_folder(aside) and not (anew and (folder / files[-1]).is_file()):
        yield folder
        return
    with writing(folder):
        aside.mkdir(exist_ok=True)
        sweep(aside)
        if anew:  # else a third one that is stopped would pass for the second, which was complete
            (aside / files[-1]).unlink(missing_ok=True)
    try:
        yield aside
        if (aside / files[-1]).is_file():
            with writing(folder):
                aside.rename(folder / READY)
            settle(folder, files)
    finally:
        with suppress(OSError):  # nothing was begun
            aside.rmdir()


def begun(folder: Path) -> bool:
    """Whether what is in a folder is being replaced."""
    return any(_is_folder(folder / name) for name in ASIDE)


def settle(folder: Path, files: Sequence[str]) -> None:
    """Finishes a swap that was begun, in a folder that is locked."""
    ready, moving = folder / READY, folder / MOVING
    with writing(folder):
        if _is_folder(ready):
            flush_folder(folder)
            _remove_others(folder, ready, files)
            ready.rename(moving)
        if _is_folder(moving):
            flush_folder(folder)
            for path in present(moving, files):
                place = folder / path.relative_to(moving)
                place.parent.mkdir(exist_ok=True)
                path.replace(place)
            _remove_folders(moving, files)
            flush_folder(folder)


def _remove_others(folder: Path, ready: Path, files: Sequence[str]) -> None:
    """Removes what nothing comes in place of, and first the last file: a mixture is unfinished."""
    kept = {path.relative_to(ready) for path in present(ready, files[:-1])}
    for path in present(folder, files[::-1]):
        if path.relative_to(folder) not in kept:
            path.unlink()


def settled(folder: Path, files: Sequence[str]) -> None:
    """Finishes a swap that was cut off, before a folder is read."""
    if _is_folder(folder / READY) or (
        _is_folder(folder / MOVING) and present(folder / MOVING, files)
    ):
        with locked(folder):
            settle(folder, files)


def present(folder: Path, files: Sequence[str]) -> list[Path]:
    """Those of the files that are there, and not behind a link to another folder."""
    paths = (folder / name for name in files)
    return [p for p in paths if p.is_file() and (p.parent == folder or _is_folder(p.parent))]


def _remove_folders(folder: Path, files: Sequence[str]) -> None:
    """Removes a folder with those of its files, where nothing is left in them."""
    for path in {(folder / name).parent for name in files} - {folder}:
        with suppress(OSError):
            path.rmdir()
    with suppress(OSError):
        folder.rmdir()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
