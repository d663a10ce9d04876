"""Matrix Market's sparse format, read by pyarrow.

SciPy's reader writes outside its arrays on some broken files and takes the process with it
(found by fuzzing SciPy 1.17), so it is not used on files of others.
"""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv
import scipy.sparse as sp

from maskgae.base.errors import InputError
from maskgae.io.archives import Array
from maskgae.io.messages import one_line, shown
from maskgae.io.sources import File
from maskgae.io.text import single_spaced

_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric")


def read_mtx(file: File) -> sp.coo_matrix:
    """The matrix of a coordinate file; where only one triangle is stored, both are returned."""
    content = io.BytesIO(file.content())
    pattern, symmetric = _read_banner(file, content)
    rows, columns, entries = _read_sizes(file, content)
    body = content.read()
    if 4 * entries > len(body) + 1:  # an entry is at least "1 1", and a line break
        raise _broken(file, f"{entries:,} entries are promised in {len(body):,} bytes")
    row, column, values = _read_entries(file, body, pattern)
    if len(row) != entries:
        raise _broken(file, f"{entries:,} entries are promised and {len(row):,} found")
    for place, size in ((row, rows), (column, columns)):
        if entries and not (place.min() >= 1 and place.max() <= size):
            raise _broken(file, f"an index is not in 1 to {size:,}")
    if symmetric and rows != columns:
        raise _broken(file, f"it says symmetric and has {rows:,} rows and {columns:,} columns")
    if symmetric:
        below = row != column
        row, column = np.append(row, column[below]), np.append(column, row[below])
        values = np.append(values, values[below])
    return sp.coo_matrix((values, (row - 1, column - 1)), shape=(rows, columns))


def _read_banner(file: File, content: io.BytesIO) -> tuple[bool, bool]:
    """Whether the first line says pattern, and whether it says symmetric."""
    words = content.readline().decode("latin1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise _broken(file, "no line '%%MatrixMarket matrix' at its top")
    if words[2] != "coordinate" or words[3] not in _FIELDS or words[4] not in _SYMMETRIES:
        raise InputError(
            f"{file.path} must be a sparse matrix of real numbers ('coordinate real general'), not "
            f"{shown(' '.join(words[2:]))}: write it that way"
        )
    return words[3] == "pattern", words[4] == "symmetric"


def _read_sizes(file: File, content: io.BytesIO) -> tuple[int, int, int]:
    """Rows, columns and entries, from the first line that is neither blank nor a comment."""
    lines = (line.split() for line in content)
    words = next((line for line in lines if line and not line[0].startswith(b"%")), [])
    if len(words) != 3 or not all(word.isdigit() and len(word) < 19 for word in words):
        raise _broken(file, "no line with the numbers of rows, columns and entries")
    rows, columns, entries = map(int, words)
    return rows, columns, entries


def _read_entries(file: File, body: bytes, pattern: bool) -> tuple[Array, Array, Array]:
    """Row, column and value of each entry, counted from 1."""
    types = {"row": pa.int64(), "column": pa.int64()}
    types |= {} if pattern else {"value": pa.float64()}
    body = single_spaced(body, "%")
    if not body.strip():
        return np.empty(0, int), np.empty(0, int), np.empty(0)
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(body),
            pyarrow.csv.ReadOptions(column_names=list(types)),
            pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False),
            pyarrow.csv.ConvertOptions(column_types=types, null_values=[]),
        )
    except pa.ArrowException as error:
        raise _broken(file, one_line(error)) from error
    columns = [table.column(name).to_numpy() for name in types]
    return columns[0], columns[1], np.ones(len(table)) if pattern else columns[2]


def _broken(file: File, reason: str) -> InputError:
    return file.not_what_it_says("a whole Matrix Market file", reason)
