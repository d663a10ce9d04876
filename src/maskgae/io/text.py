"""Text files as columns of strings: CSV, TSV and what blanks separate.

The reader is pyarrow's: one library for text and Parquet (pandas would need pyarrow for that),
which parses on all cores (10 million edges in about a second on one, where pandas takes 7), takes
every cell as a string and none as missing when told so, so that ``007``, ``NA`` and ``null`` stay
what they are, numbers strings by hash, and never unpickles. It separates by one character only, so
runs of blanks are made single ones first.

Python's own ``csv`` reads the first rows, to learn the layout, and the file again when an error
has to name a line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.csv

from maskgae.base.errors import InputError
from maskgae.io.layout import BLANKS, Layout, not_utf8, split_rows
from maskgae.io.messages import one_line
from maskgae.io.sources import File

#: A row must fit into one block.
_BLOCK = 8 << 20


@dataclass(frozen=True)
class TextTable:
    """A text file whose columns are known and whose rows are read when they are asked for."""

    file: File
    layout: Layout

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, or their places as text where there is no header."""
        return self.layout.names

    @property
    def named(self) -> bool:
        """Whether the names come from the file."""
        return self.layout.named

    @property
    def first_row(self) -> tuple[str, ...]:
        """The cells of the first row, be it a header or not."""
        return self.layout.first_row

    @property
    def in_doubt(self) -> bool:
        """Whether the first row might be what it was not taken for."""
        return self.layout.in_doubt

    def read(self, places: Sequence[int]) -> list[pa.ChunkedArray]:
        """The columns at the given places as strings; nothing is taken for missing."""
        try:
            table = pyarrow.csv.read_csv(self._stream(), *self._options(places))
        except pa.ArrowException as error:
            raise self._explained(error) from error
        return [table.column(str(place)) for place in places]

    def batches(self, places: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
        """What :meth:`read` gives, some rows at a time and in memory that does not grow."""
        try:
            with pyarrow.csv.open_csv(self._flow(), *self._options(places)) as reader:
                for batch in reader:
                    yield [pa.chunked_array([batch.column(str(place))]) for place in places]
        except pa.ArrowException as error:
            raise self._explained(error) from error

    def place_of_row(self, row: int) -> str:
        """Where a row stands, counted from 0 after the header, for an error message."""
        try:
            lines = (number for number, _ in self._slow_rows())
            return f"line {next(islice(lines, row + self.named, None)):,}"
        except (StopIteration, csv.Error, UnicodeDecodeError):
            return f"row {row + 1:,}"

    def _options(self, places: Sequence[int]) -> tuple[Any, Any, Any]:
        """How to read, parse and convert; columns are called by their places."""
        names = [str(i) for i in range(len(self.names))]
        quoted = self.layout.sep != BLANKS
        return (
            pyarrow.csv.ReadOptions(
                column_names=names,
                skip_rows_after_names=rows_to_header(self._prepared(self.file.head)) * self.named,
                block_size=_BLOCK,
            ),
            pyarrow.csv.ParseOptions(
                delimiter=self.layout.sep,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
            ),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=list(dict.fromkeys(names[place] for place in places)),
                strings_can_be_null=False,
            ),
        )

    def _stream(self) -> pa.NativeFile:
        if self.layout.sep == BLANKS or self.layout.comment:
            return pa.BufferReader(self._prepared(self.file.content()))
        return self.file.stream()

    def _flow(self) -> Any:
        """As the stream, but never all of it in memory."""
        if self.layout.sep == BLANKS or self.layout.comment:
            return Flow(self._prepared(lines) for lines in whole_lines(self.file))
        return Flow(self.file.blocks(_BLOCK))

    def _prepared(self, content: bytes) -> bytes:
        """Whole lines as pyarrow can read them."""
        if self.layout.sep == BLANKS:
            return single_spaced(content, self.layout.comment)
        return without_comments(content, self.layout.comment)

    def _slow_rows(self) -> Iterator[tuple[int, list[str]]]:
        text = io.TextIOWrapper(io.BytesIO(self.file.content()), "utf-8-sig", newline="")
        return split_rows(text, self.layout.sep, self.layout.comment)

    def _explained(self, error: pa.ArrowException) -> InputError:
        """The error that names the line, from a second and slower reading."""
        content = self.file.content()
        try:
            content.decode()
            for line, cells in self._slow_rows():
                if len(cells) != len(self.names):
                    return InputError(
                        f"{self.file.path}: every row must have {len(self.names)} columns as the "
                        f"first one, but line {line:,} has {len(cells)}: mend that line, or give "
                        "the separator (--read 'sep=;')"
                    )
        except UnicodeDecodeError as wrong:
            return not_utf8(self.file, content, wrong.start)
        except csv.Error:
            pass
        return self.file.not_what_it_says("a table of text", one_line(error))


class Flow(io.RawIOBase):
    """A file to read from, made of pieces that come one after the other."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = iter(pieces)
        self.piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.piece:
            following = next(self.pieces, None)
            if following is None:
                return 0
            self.piece = memoryview(following)
        count = min(len(buffer), len(self.piece))
        buffer[:count] = self.piece[:count]
        self.piece = self.piece[count:]
        return count


def whole_lines(file: File) -> Iterator[bytes]:
    """The content of a file in pieces that end where lines end."""
    rest = b""
    for block in file.blocks(_BLOCK):
        lines, newline, rest = (rest + block).rpartition(b"\n")
        if newline:
            yield lines + newline
    yield rest


def rows_to_header(content: bytes) -> int:
    r"""How many rows end with the header: blank lines above it count where a row is skipped.

    >>> rows_to_header(b"a,b\n1,2\n"), rows_to_header(b"\r\n\na,b\n")
    (1, 3)
    """
    start = content.removeprefix(b"\xef\xbb\xbf")
    blank = start[: len(start) - len(start.lstrip(b"\r\n"))]
    return len(blank.splitlines()) + 1


def single_spaced(content: bytes, comment: str) -> bytes:
    r"""Text whose runs of blanks and tabs are one blank each, and none at the ends of a line.

    >>> single_spaced(b"# x\n1\t 2 \r\n  3   4", "#")
    b'1 2\n3 4'
    """
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    content = content.replace(b"\r", b"\n").replace(b"\t", b" ")
    while b"  " in content:
        content = content.replace(b"  ", b" ")
    content = content.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")
    return without_comments(content, comment)


def without_comments(content: bytes, comment: str) -> bytes:
    r"""Text without the lines that begin with a marker.

    >>> without_comments(b"# a\n1,2\n#b\n3,4", "#")
    b'1,2\n3,4'
    """
    marker = comment.encode()
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not marker or not (content.startswith(marker) or b"\n" + marker in content):
        return content
    pattern = rb"\n" + re.escape(marker) + rb"[^\n]*"
    return re.sub(pattern, b"", b"\n" + content)[1:]
