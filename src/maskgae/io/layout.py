r"""How a text file is laid out: what separates its cells, and whether its first row has names.

Separator, where it is not given, by the file's ending:

=====================  ====================================================================
.csv                   comma; semicolon or tab where the first row has no comma
.tsv                   tab
.txt, .edges, .el      blanks and tabs, any number of them (as SNAP's files); comma or
                       semicolon where the first row has no blank
=====================  ====================================================================

Cells in double quotes may contain separators and line breaks, but not where blanks separate.
Lines that begin with ``#`` are comments where blanks separate; elsewhere only if ``comment`` says
so, since an id may begin with it.

The first row is a header, where that is not given, if

1. it has a pair of known names (``source,target``, ``src,dst``, ``from,to``, in any case), or
   the names that were asked for; or
2. its cells are all different, none of them is empty or a number, and some column has nothing
   but numbers below (in the rows of the file's first 256 KiB); or
3. its cells are such and occur nowhere else in their columns, nor in each other's, while of the
   rows below at most one in twenty could say the same of itself.

So ``NA,5`` over ``1,2`` is an edge, ``person,friend,score`` over ``ann,bob,0.5`` is a header, and
so is ``package,tag`` over a list in which packages and tags repeat. By the third rule an edge
between two nodes that have no other might be taken for names, and names over words that hardly
repeat for an edge: both are in doubt, and a note says what was read and how to say otherwise.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from maskgae.base.errors import InputError
from maskgae.io.messages import one_line, shown
from maskgae.io.sources import File

#: Names of the two ends of an edge that are recognised.
KNOWN_PAIRS = (("source", "target"), ("src", "dst"), ("from", "to"))

#: Rows below a first one that it takes to tell names from an edge by what repeats, and the share of
#: them that may have nothing which does.
LEAST_ROWS, ALONE = 3, 0.05

#: Stands for any number of blanks and tabs.
BLANKS = " "

_GUESSED = {".csv": (",", ";", "\t"), ".tsv": ("\t",)}
_GUESSED_FROM_BLANKS = (BLANKS, ",", ";")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Layout:
    """What separates cells, what begins a comment ("" for none), and the first rows' meaning.

    Args:
        sep: one character; :data:`BLANKS` for any number of blanks and tabs.
        comment: what a line to skip begins with.
        names: the names of the columns, or their places where there is no header.
        named: whether the first row is a header.
        first_row: the cells of the first row.
        in_doubt: whether the first row might be what it was not taken for.
    """

    sep: str
    comment: str
    names: tuple[str, ...]
    named: bool
    first_row: tuple[str, ...]
    in_doubt: bool = False


def find_layout(
    file: File,
    *,
    sep: str | None = None,
    comment: str | None = None,
    header: bool | None = None,
    asked: Iterable[str] = (),
    repeats: bool = True,
) -> Layout:
    """The layout of a text file from its first rows; what is given is not guessed.

    Args:
        file: the file.
        sep: the separator; a blank for any number of blanks and tabs.
        comment: what a line to skip begins with; empty for no comments.
        header: whether the first row has names.
        asked: names of columns that the caller wants.
        repeats: whether to guess names from what occurs again and what does not.
    """
    file.check_text()
    lines = _first_lines(file)
    try:
        sep = _separator(file, lines, comment) if sep is None else _checked_separator(sep)
        comment = _comment(sep, comment)
        rows = [row for _, row in split_rows(lines, sep, comment)]
    except csv.Error as error:
        raise file.not_what_it_says("a table of text", one_line(error)) from error
    if len(rows) > 2 and not file.is_whole_head:
        rows.pop()  # it may be cut
    if not rows:
        raise InputError(f"{file.path} has no row that is not blank or a comment: nothing to read")
    in_doubt = False
    if header is None:
        header, in_doubt = _is_header(rows, set(asked), repeats)
    names = rows[0] if header else [str(i) for i in range(len(rows[0]))]
    return Layout(sep, comment, tuple(names), header, tuple(rows[0]), in_doubt)


def split_rows(lines: Iterable[str], sep: str, comment: str) -> Iterator[tuple[int, list[str]]]:
    """Rows as lists of cells, each with the number of the line that it ends on; slow and exact."""
    if sep == BLANKS:
        for number, line in enumerate(lines, 1):
            cells = re.split(r"[ \t]+", line.strip(" \t\r\n"))
            if cells != [""] and not (comment and cells[0].startswith(comment)):
                yield number, cells
        return
    kept = (line if not (comment and line.startswith(comment)) else "\n" for line in lines)
    reader = csv.reader(kept, delimiter=sep)
    for cells in reader:
        if cells:
            yield reader.line_num, cells


def is_number(cell: str) -> bool:
    """Whether a cell is a finite decimal number.

    >>> [is_number(cell) for cell in ("1", "-1.5e3", "nan", "0x1F", "")]
    [True, True, False, False, False]
    """
    return _NUMBER.fullmatch(cell.strip()) is not None


def not_utf8(file: File, content: bytes, at: int) -> InputError:
    """The error for a byte that is no UTF-8."""
    line = content.count(b"\n", 0, at) + 1
    return InputError(
        f"{file.path} must be text in UTF-8, but line {line:,} is not: "
        "convert it, for example with iconv -f latin1 -t utf-8"
    )


def _first_lines(file: File) -> list[str]:
    head = file.head
    if not file.is_whole_head and b"\n" in head:
        head = head[: head.rindex(b"\n") + 1]
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if not (b"\n" not in head and error.start > len(head) - 4):
            raise not_utf8(file, head, error.start) from error
        text = head[: error.start].decode("utf-8-sig")
    return list(io.StringIO(text, newline=""))


def _comment(sep: str, comment: str | None) -> str:
    return ("#" if sep == BLANKS else "") if comment is None else comment


def _separator(file: File, lines: list[str], comment: str | None) -> str:
    """The first candidate that splits the first row."""
    candidates = _GUESSED.get(file.ending, _GUESSED_FROM_BLANKS)
    for sep in candidates:
        # A comment is one whichever separator the rest turns out to have.
        marker = _comment(candidates[0], comment)
        first = next(iter(split_rows(lines, sep, marker)), None)
        if first is not None and len(first[1]) > 1:
            return sep
    return candidates[0]


def _checked_separator(sep: str) -> str:
    sep = {"\\t": "\t", "tab": "\t", "blanks": BLANKS}.get(sep, sep)
    if len(sep) != 1 or sep in '"\r\n' or not sep.isascii():
        raise InputError(
            f"a separator must be one character, not {shown(sep)}: give ',', ';', 'tab' or "
            "'blanks' for any number of blanks and tabs"
        )
    return sep


def _is_header(rows: list[list[str]], asked: set[str], repeats: bool) -> tuple[bool, bool]:
    """Whether the first row has names, and whether that is in doubt."""
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    lowered = {cell.lower() for cell in first}
    if any(lowered.issuperset(pair) for pair in KNOWN_PAIRS) or (asked and asked <= set(first)):
        return True, False
    if len(set(first)) < len(first) or any(not cell or is_number(cell) for cell in first):
        return False, False
    if any(all(is_number(cell) for cell in column) for column in zip(*below, strict=True)):
        return True, False
    return _stands_alone(first, below) if repeats else (False, False)


def _stands_alone(first: list[str], below: list[list[str]]) -> tuple[bool, bool]:
    """Whether no cell of the first row occurs again, and nearly every row below has one that does.

    >>> list_of_two_sides = [["numpy", "math"], ["scipy", "math"], ["numpy", "array"]]
    >>> _stands_alone(["package", "tag"], list_of_two_sides)
    (True, True)
    >>> _stands_alone(["ann", "bob"], [["cyd", "dan"], ["cyd", "eve"], ["fay", "gus"]])
    (False, True)
    """
    if len(below) < LEAST_ROWS or len(first) < 2:
        return False, False
    # The ends of an edge are nodes alike: a name may occur in either column.
    ends = Counter(cell for row in below for cell in row[:2])
    others = [Counter(column) for column in list(zip(*below, strict=True))[2:]]
    if any(ends[cell] for cell in first[:2]):
        return False, False
    if any(counts[cell] for counts, cell in zip(others, first[2:], strict=True)):
        return False, False
    alone = sum(max(ends[cell] for cell in row[:2]) == 1 for row in below)
    return alone <= ALONE * len(below), True
