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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.csv

from maskgae.errors import InputError
from maskgae.graph.readers.layout import BLANKS, Layout, not_utf8, split_rows
from maskgae.graph.readers.messages import one_line
from maskgae.graph.readers.sources import File

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

    def read(self, places: Sequence[int]) -> list[pa.ChunkedArray]:
        """The columns at the given places as strings; nothing is taken for missing."""
        names = [str(i) for i in range(len(self.names))]
        wanted = list(dict.fromkeys(names[place] for place in places))
        try:
            table = pyarrow.csv.read_csv(
                self._stream(),
                pyarrow.csv.ReadOptions(
                    column_names=names, skip_rows_after_names=int(self.named), block_size=_BLOCK
                ),
                self._parsing(),
                pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=wanted,
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowException as error:
            raise self._explained(error) from error
        return [table.column(names[place]) for place in places]

    def place_of_row(self, row: int) -> str:
        """Where a row stands, counted from 0 after the header, for an error message."""
        try:
            lines = (number for number, _ in self._slow_rows())
            return f"line {next(islice(lines, row + self.named, None)):,}"
        except (StopIteration, csv.Error, UnicodeDecodeError):
            return f"row {row + 1:,}"

    def _parsing(self) -> pyarrow.csv.ParseOptions:
        quoted = self.layout.sep != BLANKS
        return pyarrow.csv.ParseOptions(
            delimiter=self.layout.sep,
            quote_char='"' if quoted else False,
            newlines_in_values=quoted,
        )

    def _stream(self) -> pa.NativeFile:
        if self.layout.sep == BLANKS:
            return pa.BufferReader(single_spaced(self.file.content(), self.layout.comment))
        if self.layout.comment:
            return pa.BufferReader(without_comments(self.file.content(), self.layout.comment))
        return self.file.stream()

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
                        "the separator"
                    )
        except UnicodeDecodeError as wrong:
            return not_utf8(self.file, content, wrong.start)
        except csv.Error:
            pass
        return self.file.not_what_it_says("a table of text", one_line(error))


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
