"""Files of a user before anything is parsed: is it there, what is it, how large does it become.

Nothing here or in the readers above unpickles. What a compressed file unpacks to is bounded:
beyond :data:`UNPACKED_FREE` bytes it may be at most :data:`UNPACKED_RATIO` times as large as
the file, so that a small file cannot fill the memory.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from maskgae.base.errors import InputError
from maskgae.base.sizes import READ_BYTES

#: Up to this many bytes a file may unpack to whatever its own size.
UNPACKED_FREE = 16 * 2**20
#: Beyond, it may grow at most this many times. Text of numbers shrinks 3 to 20 times.
UNPACKED_RATIO = 200

#: The first bytes of formats that end up under another format's ending.
_MAGIC = {
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive, as .npz and .xlsx are",
    b"\x93NUMPY": "a NumPy array",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"%PDF": "a PDF document",
}

_HEAD = 1 << 18


@dataclass(frozen=True)
class File:
    """A file that exists, is not empty and has a known ending.

    Args:
        path: where it is.
        ending: the lower-case ending, without ``.gz``.
        gzipped: whether ``.gz`` follows it.
    """

    path: Path
    ending: str
    gzipped: bool = False

    @cached_property
    def head(self) -> bytes:
        """The first 256 KiB of the content, unpacked."""
        with self.path.open("rb") as file:
            if not self.gzipped:
                return file.read(_HEAD)
            with _unpacking(self.path), gzip.GzipFile(fileobj=file) as stream:
                return stream.read(_HEAD)

    @property
    def is_whole_head(self) -> bool:
        """Whether the head is all there is."""
        return len(self.head) < _HEAD

    def content(self) -> bytes:
        """All bytes, unpacked within the limits."""
        if self.is_whole_head:
            return self.head
        return b"".join(self.blocks(READ_BYTES)) if self.gzipped else self.path.read_bytes()

    def blocks(self, size: int) -> Iterator[bytes]:
        """The content piece by piece, unpacked within the limits."""
        if not self.gzipped:
            with self.path.open("rb") as file:
                while block := file.read(size):
                    yield block
            return
        packed, unpacked = self.path.stat().st_size, 0
        with _unpacking(self.path), gzip.open(self.path) as stream:
            while block := stream.read(size):
                unpacked += len(block)
                check_unpacked(self.path, packed, unpacked)
                yield block

    def stream(self) -> pa.NativeFile:
        """The content for pyarrow, read from the disk piece by piece where it is not packed."""
        if self.gzipped or self.is_whole_head:
            return pa.BufferReader(self.content())
        return pa.OSFile(str(self.path))

    def check_text(self) -> None:
        """Refuses what is no text."""
        kind = next((name for magic, name in _MAGIC.items() if self.head.startswith(magic)), None)
        if kind is None and b"\0" in self.head:
            kind = "a binary file"
        if kind is not None:
            raise InputError(
                f"{self.path} must be text in UTF-8 by its ending '{self.ending}', but it is "
                f"{kind}: rename or convert it"
            )

    def not_what_it_says(self, expected: str, reason: str) -> InputError:
        """The error for a content that another ending would fit, or none."""
        return InputError(
            f"{self.path} must be {expected} by its ending '{self.ending}', but it is not "
            f"({reason}): write it again or rename it"
        )


def open_file(path: str | Path, plain: Sequence[str], packed: Sequence[str] = ()) -> File:
    """Looks at a path before it is read.

    Args:
        path: the file.
        plain: the endings that are known.
        packed: those of them that may be followed by ``.gz``.
    """
    path = Path(path)
    ending, gzipped = path.suffix.lower(), False
    if ending == ".gz":
        ending, gzipped = Path(path.stem).suffix.lower(), True
    if ending not in (packed if gzipped else plain):
        raise InputError(
            f"{path} has an unknown ending '{''.join(path.suffixes[-1 - gzipped :])}': known are "
            f"{', '.join(plain)}" + (f", and with .gz {', '.join(packed)}" if packed else "")
        )
    if not path.exists():
        raise InputError(f"{path} does not exist: check the path")
    if not path.is_file():
        raise InputError(f"{path} must be a file, but it is not: name the file itself")
    file = File(path, ending, gzipped)
    try:
        if not file.head:
            raise InputError(f"{path} is empty: there is nothing to read")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the file") from error
    return file


def check_unpacked(path: Path, packed: int, unpacked: int) -> None:
    """Refuses a file that unpacks to more than the limits allow."""
    if unpacked > UNPACKED_FREE and unpacked > UNPACKED_RATIO * packed:
        raise InputError(
            f"{path} may unpack to at most {UNPACKED_RATIO} times its size beyond "
            f"{UNPACKED_FREE >> 20} MB, but {packed:,} bytes become {unpacked:,} or more: "
            "unpack it yourself if you trust it"
        )


class _unpacking:  # noqa: N801 - reads as a verb where it is used
    """Turns the complaints of gzip into one line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, EOFError | gzip.BadGzipFile | zlib.error):
            raise InputError(
                f"{self.path} must be a whole gzip file by its ending '.gz', but it is not "
                f"({error}): pack it again or rename it"
            ) from error
