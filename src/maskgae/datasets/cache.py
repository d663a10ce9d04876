"""Where datasets lie on this machine, and how they get there.

A dataset is looked for in the folder that ``MASKGAE_DATA`` names, then in the cache; what is
found in neither is downloaded to the cache. Files are gathered in a hidden folder beside their
place and moved there when they are complete, so a broken download leaves nothing behind.

Some datasets are pickles by origin, which can run code when they are opened. They are opened only
where their content is known: by a checksum in this package, or by one in the cache's
``trusted.sha256``, which has a line for each such file that this installation downloaded.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from maskgae.base.files import sha256, write_text

DATA_VARIABLE = "MASKGAE_DATA"

#: A silent server is given up after this many seconds.
NETWORK_TIMEOUT = 30.0


def cache_folder() -> Path:
    """The folder for what this package downloads or derives; it may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "maskgae"


def data_folders() -> list[Path]:
    """The folders that may hold datasets, in the order in which they are searched."""
    own = os.environ.get(DATA_VARIABLE)
    return [*([Path(own)] if own else []), cache_folder()]


def find_folder(relative: str | Path, files: Iterable[str]) -> Path | None:
    """The first data folder's ``relative`` sub-folder that has all the files, if any does."""
    wanted = list(files)
    for base in data_folders():
        folder = base / relative
        if all((folder / name).is_file() for name in wanted):
            return folder
    return None


def trusted_list() -> Path:
    """The list of files that may be opened, in the form that ``sha256sum`` writes."""
    return cache_folder() / "trusted.sha256"


def is_trusted(path: Path) -> bool:
    """Whether the content of a file is on the list, wherever it lies."""
    listed = trusted_list()
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    return sha256(path) in {line.partition(" ")[0] for line in lines}


def trust(paths: Iterable[Path]) -> None:
    """Puts files on the list."""
    listed = trusted_list()
    kept = listed.read_text(encoding="utf-8") if listed.is_file() else ""
    write_text(listed, kept + "".join(f"{sha256(path)}  {path.name}\n" for path in paths))


@contextmanager
def filled_folder(final: Path) -> Iterator[Path]:
    """A new folder to fill, which takes the place of ``final`` when the block ends well."""
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=final.parent, prefix=".incomplete-") as temporary:
        inner = Path(temporary) / final.name
        inner.mkdir()
        yield inner
        shutil.rmtree(final, ignore_errors=True)
        try:
            inner.replace(final)
        except OSError:
            # Another process may have finished in between; its files are the same.
            if not final.is_dir():
                raise


@contextmanager
def network_timeout(seconds: float = NETWORK_TIMEOUT) -> Iterator[None]:
    """Gives up inside on servers that stay silent; the libraries' downloads set no limit."""
    kept = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(kept)


def not_found(name: str, place: str, reason: BaseException) -> str:
    """The one line that says where a dataset was looked for and what to do."""
    searched = " and ".join(str(base / place) for base in data_folders())
    why = " ".join(str(reason).split()) or type(reason).__name__
    return (
        f"dataset {name} is neither on this machine (looked in {searched}) nor downloadable "
        f"({why}): set {DATA_VARIABLE} to a folder that holds {place}"
    )
