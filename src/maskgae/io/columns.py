"""Which columns of a user's table are what, and what the cells of an id column must be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskgae.base.errors import InputError, nearest
from maskgae.io.ids import IdArray, as_ids, find_ids, id_type
from maskgae.io.layout import KNOWN_PAIRS
from maskgae.io.messages import listed, shown
from maskgae.io.sources import File

#: A longer id is a quote that was never closed, or no id.
MAX_ID_LENGTH = 4096

#: How a column is asked for: by name or by place from 0.
ColumnName = str | int


class Columns(Protocol):
    """A table whose columns are known and whose rows are not read yet."""

    @property
    def file(self) -> File: ...

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, or their places as text where there is no header."""
        ...

    @property
    def named(self) -> bool:
        """Whether the names come from the file."""
        ...

    @property
    def first_row(self) -> tuple[str, ...]:
        """The cells of a text file's first row."""
        ...

    @property
    def in_doubt(self) -> bool:
        """Whether the first row of a text file might be what it was not taken for."""
        ...

    def read(self, places: Sequence[int]) -> list[pa.ChunkedArray]:
        """The columns at the given places."""
        ...

    def batches(self, places: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
        """The same, some rows at a time."""
        ...

    def place_of_row(self, row: int) -> str:
        """Where a row stands, counted from 0, for an error message."""
        ...


def choose_ends(
    columns: Columns, source: ColumnName | None, target: ColumnName | None
) -> tuple[int, int]:
    """The places of the two ends of an edge: asked for, known by name, or the first two."""
    path = columns.file.path
    if (source is None) != (target is None):
        raise InputError(f"{path}: name both columns, source and target, or neither")
    if source is not None and target is not None:
        return find_column(columns, source), find_column(columns, target)
    if len(columns.names) < 2:
        raise InputError(
            f"{path}: an edge needs two columns, but there is one, {listed(columns.names)}: "
            "give the separator if it is another (--read 'sep=;')"
        )
    lowered = [name.lower() for name in columns.names]
    for first, second in KNOWN_PAIRS:
        if columns.named and first in lowered and second in lowered:
            return lowered.index(first), lowered.index(second)
    return 0, 1


def choose_weight(
    columns: Columns, weight: ColumnName | Literal[False] | None, ends: tuple[int, int]
) -> int | None:
    """The place of the weights: asked for, or called ``weight``; none where there are none."""
    if weight is False:
        return None
    if weight is not None:
        return find_column(columns, weight)
    lowered = [name.lower() for name in columns.names]
    if not columns.named or "weight" not in lowered:
        return None
    place = lowered.index("weight")
    return None if place in ends else place


def find_column(columns: Columns, asked: ColumnName) -> int:
    """The place of a column that is asked for by name or by place."""
    names = list(columns.names)
    if isinstance(asked, str):
        if columns.named and names.count(asked) == 1:
            return names.index(asked)
        if not asked.isdecimal():
            hint = nearest(asked, names) if columns.named else "there is no header, give its place"
            raise InputError(f"{columns.file.path} has no column {shown(asked)}: {hint}")
        asked = int(asked)
    if not 0 <= asked < len(names):
        raise InputError(
            f"{columns.file.path} has {len(names)} columns, counted from 0, and none at {asked}: "
            f"they are {listed(names)}"
        )
    return asked


def id_column(columns: Columns, place: int, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """The cells as strings or integers, none of them empty."""
    name = columns.names[place]
    kind = id_type(cells.type)
    if kind is None:
        raise InputError(
            f"{columns.file.path}: ids must be strings or integers, but column {shown(name)} has "
            f"the type {cells.type}: convert it"
        )
    empty = pc.is_null(cells)
    if kind == pa.string():
        cells = cells.cast(kind)
        empty = pc.fill_null(pc.equal(pc.binary_length(cells), 0), True)
    row = pc.index(empty, True).as_py()
    if row >= 0:
        raise InputError(
            f"{columns.file.path}: every row needs its ids, but column {shown(name)} is empty on "
            f"{columns.place_of_row(row)}: mend or drop that row"
        )
    try:
        return cells.cast(kind)
    except pa.ArrowInvalid:  # an unsigned integer beyond 63 bits
        return cells.cast(pa.string())


def end_column(
    columns: Columns, place: int, cells: pa.ChunkedArray, strip: bool | None
) -> pa.ChunkedArray:
    """The ids at one end of the edges, without blanks around them where that is asked."""
    found = id_column(columns, place, cells)
    if strip and pa.types.is_string(found.type):
        found = id_column(columns, place, pc.utf8_trim_whitespace(found))
    return found


def checked_ids(file: File, ids: IdArray, strip: bool | None) -> list[str]:
    """Notes on ids that look like mistakes; an error where they surely are."""
    if ids.dtype == np.int64:
        return []
    words = pa.array(ids, pa.string())
    longest = pc.max(pc.utf8_length(words)).as_py() or 0
    if longest > MAX_ID_LENGTH:
        raise InputError(
            f"{file.path}: an id may have {MAX_ID_LENGTH:,} characters, but one has {longest:,}: "
            "is a quote not closed, or another column the id?"
        )
    trimmed = pc.utf8_trim_whitespace(words)
    blank = words.filter(pc.not_equal(words, trimmed))
    notes = []
    if len(blank):
        twins = find_ids(as_ids(pc.utf8_trim_whitespace(blank)), ids)
        if strip is None and (twins >= 0).any():
            twin = blank[int(np.flatnonzero(twins >= 0)[0])].as_py()
            raise InputError(
                f"{file.path}: ids {shown(twin)} and {shown(twin.strip())} differ by blanks only: "
                "cut the blanks off (--read strip=yes) or keep them (strip=no)"
            )
        example = shown(blank[0].as_py())
        notes.append(f"{len(blank):,} ids have blanks around them, such as {example}")
    broken = pc.sum(pc.match_substring(words, "\n")).as_py()
    if broken:
        notes.append(f"{broken:,} ids contain line breaks; is a quote not closed?")
    return [*notes, *_accents_note(words)]


def _accents_note(words: pa.Array) -> list[str]:
    """Says where ids look alike, as an accent may be one character with its letter or another."""
    if pc.all(pc.string_is_ascii(words), min_count=0).as_py():
        return []
    forms = pc.utf8_normalize(words, form="NFC")
    counts = forms.value_counts()
    twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if not len(twice):
        return []
    first, second = words.filter(pc.equal(forms, twice[0])).to_pylist()[:2]
    return [
        f"{len(twice):,} ids look like another that is encoded otherwise in Unicode, such as "
        f"{first[:40]!a} and {second[:40]!a}: they are different nodes; write all in "
        "NFC to join them"
    ]


def columns_note(columns: Columns, ends: tuple[int, int], weight: int | None) -> str:
    """The line that says what was read as what."""
    names = columns.names
    unread = len(names) - len({*ends, weight} - {None})
    more = f"; {unread} further columns are not read" if unread else ""
    if columns.named:
        text = f"edges from column {shown(names[ends[0]])} to column {shown(names[ends[1]])}"
        weights = "no weights" if weight is None else f"weights from {shown(names[weight])}"
        return f"{text}, {weights}{more}" + (_DOUBTED_NAMES if columns.in_doubt else "")
    first = columns.first_row
    text = f"no header: the first row is the edge {shown(first[ends[0]])}, {shown(first[ends[1]])}"
    return text + more + (_DOUBTED_EDGE if columns.in_doubt else "")


_DOUBTED_NAMES = (
    "; the first row was taken for names, since it occurs nowhere else: if it is an edge, "
    "--read header=no"
)
_DOUBTED_EDGE = "; if it has the columns' names, --read header=yes"
