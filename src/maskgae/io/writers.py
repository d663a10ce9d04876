"""Tables of results, written whole or not at all; the ending says how.

==========  ===========================================================================
.parquet    a column each; a matrix becomes a column for each of its own
.csv, .tsv  the same as text in UTF-8; strings in quotes
.npz        an array each, as it is; strings with fixed width
.npy        the only array
==========  ===========================================================================

A file is written under another name beside its place, flushed to the disk and renamed; whoever
looks sees the old content or the new, and after a failure the old.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from maskgae.base.errors import InputError
from maskgae.base.files import atomic
from maskgae.base.sizes import READ_ROWS
from maskgae.io.messages import five_of, shown

WRITE_ENDINGS = (".parquet", ".csv", ".tsv", ".npz", ".npy")

#: A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = r"^[=+\-@\t\r]"


def check_table(path: str | Path) -> Path:
    """Refuses a path that :func:`write_table` could not write, before any work is done."""
    path = Path(path)
    if path.suffix.lower() not in WRITE_ENDINGS:
        raise InputError(
            f"{path} has an unknown ending '{path.suffix}': known are {', '.join(WRITE_ENDINGS)}"
        )
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written, since its folder does not exist: create it")
    if path.is_dir():
        raise InputError(f"{path} cannot be written, since it is a folder: name a file in it")
    return path


def write_table(
    path: str | Path, columns: Mapping[str, Any], *, spreadsheet_safe: bool = False
) -> None:
    """Writes columns of one length.

    Args:
        path: the file.
        columns: by name: ids, numbers or strings ``[N]``, or a matrix ``[N, D]``, which a table
            spreads over the columns ``name_0`` to ``name_{D-1}``.
        spreadsheet_safe: for CSV and TSV, put an apostrophe before text that a spreadsheet would
            take for a formula. Such text does not read back unchanged.
    """
    path = check_table(path)
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    _check_shapes(path, arrays)
    ending = path.suffix.lower()
    if ending == ".npz":
        strings = {name: _fixed_width(path, name, array) for name, array in arrays.items()}
        with whole_file(path) as file:
            _write_npz(file, strings)
    elif ending == ".npy":
        with whole_file(path) as file:
            np.save(file, _only_array(path, arrays), allow_pickle=False)
    else:
        write_parts(path, iter([arrays]), spreadsheet_safe=spreadsheet_safe)


def write_parts(
    path: str | Path,
    parts: Iterator[Mapping[str, Any]],
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Writes a table that comes in parts with the same columns; only one is held at a time.

    What is no table of rows (``.npz``) is put together first.
    """
    path = check_table(path)
    ending = path.suffix.lower()
    if ending not in (".parquet", ".csv", ".tsv"):
        joined = [{name: np.asarray(values) for name, values in part.items()} for part in parts]
        columns = {name: np.concatenate([part[name] for part in joined]) for name in joined[0]}
        write_table(path, columns)
        return
    tables = (_arrow_table(path, {k: np.asarray(v) for k, v in part.items()}) for part in parts)
    if spreadsheet_safe and ending != ".parquet":
        tables = (_without_formulas(table) for table in tables)
    first = next(tables)
    separator = "," if ending == ".csv" else "\t"
    with whole_file(path) as file:
        if ending == ".parquet":
            # Vectors hardly repeat a number: a dictionary of them would only cost time.
            writer: Any = pyarrow.parquet.ParquetWriter(file, first.schema, use_dictionary=False)
        else:
            options = pyarrow.csv.WriteOptions(delimiter=separator)
            writer = pyarrow.csv.CSVWriter(file, first.schema, write_options=options)
        with writer:
            for table in chain([first], tables):
                writer.write_table(table)


def write_vectors(path: str | Path, ids: Any, vectors: np.ndarray[Any, Any]) -> None:
    """Ids and vectors as two columns of Parquet, ``id`` and, in lists of one size, ``vector``.

    That is what vector stores read. It is written some rows at a time.
    """
    path, width = check_table(path), vectors.shape[1]
    if path.suffix.lower() != ".parquet":
        raise InputError(f"{path}: only Parquet has columns of vectors, so name a file.parquet")
    kind = pa.list_(pa.float32(), width)
    schema = pa.schema({"id": _arrow(np.asarray(ids[:1])).type, "vector": kind})
    with (
        whole_file(path) as file,
        pyarrow.parquet.ParquetWriter(file, schema, use_dictionary=False) as writer,
    ):
        for start in range(0, len(vectors), READ_ROWS):
            rows = slice(start, start + READ_ROWS)
            values = pa.array(np.asarray(vectors[rows], dtype=np.float32).ravel())
            columns = [_arrow(ids[rows]), pa.FixedSizeListArray.from_arrays(values, type=kind)]
            writer.write_table(pa.table(columns, schema=schema))


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes the place of ``path`` when the block ends well.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "a.txt") as file:
    ...         _ = file.write(b"done")
    ...     [(entry.name, entry.read_bytes()) for entry in Path(folder).iterdir()]
    [('a.txt', b'done')]
    """
    with atomic(Path(path)) as temporary, temporary.open("xb") as file:
        yield file


def _check_shapes(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    wrong = [name for name, array in arrays.items() if array.ndim not in (1, 2)]
    if wrong or not arrays:
        raise InputError(f"{path}: columns must have one or two dimensions: check {five_of(wrong)}")
    if len({len(array) for array in arrays.values()}) > 1:
        sizes = ", ".join(f"{shown(name)} {len(array):,}" for name, array in arrays.items())
        raise InputError(f"{path}: columns must have one length, but they have {sizes} rows")


def _arrow_table(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> pa.Table:
    spread: dict[str, Any] = {}
    for name, array in arrays.items():
        parts = {name: array} if array.ndim == 1 else _spread(name, array)
        if repeated := spread.keys() & parts.keys():
            raise InputError(f"{path}: two columns are called {five_of(sorted(repeated))}: rename")
        spread.update(parts)
    try:
        return pa.table({name: _arrow(array) for name, array in spread.items()})
    except (pa.ArrowException, UnicodeEncodeError, TypeError) as error:
        raise InputError(f"{path}: columns must be numbers or strings: convert them") from error


def _spread(name: str, matrix: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    return {f"{name}_{i}": np.ascontiguousarray(column) for i, column in enumerate(matrix.T)}


def _arrow(array: np.ndarray[Any, Any]) -> pa.Array:
    if array.dtype.kind in "OU":
        return pa.array(array.tolist(), pa.string())
    return pa.array(array)


def _without_formulas(table: pa.Table) -> pa.Table:
    names = pc.replace_substring_regex(pa.array(table.column_names), _FORMULA, r"'\0")
    columns = [
        pc.replace_substring_regex(column, _FORMULA, r"'\0") if column.type == "string" else column
        for column in table.columns
    ]
    return pa.table(columns, names=names.to_pylist())


def _write_npz(file: IO[bytes], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """As ``np.savez``, which older NumPys cannot be told never to pickle."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _fixed_width(path: Path, name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Strings as NumPy can store them without pickling; it would lose a zero at their end."""
    if array.dtype.kind != "O":
        return array
    strings = array.tolist()
    if not all(isinstance(item, str) and not item.endswith("\0") for item in strings):
        raise InputError(
            f"{path}: column {shown(name)} must be numbers, or strings that do not end in a zero "
            "byte: write .parquet"
        )
    return np.array(strings, dtype=np.str_)


def _only_array(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    if len(arrays) != 1:
        raise InputError(
            f"{path} can hold one array, not {five_of(list(arrays))}: write .npz or .parquet"
        )
    [(name, array)] = arrays.items()
    return _fixed_width(path, name, array)
