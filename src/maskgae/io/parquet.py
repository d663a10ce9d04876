"""Parquet files as columns with types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from maskgae.base.errors import InputError
from maskgae.base.sizes import READ_ROWS
from maskgae.io.messages import one_line
from maskgae.io.sources import File, check_unpacked


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[pyarrow.parquet.ParquetFile]:
    """A Parquet file; pyarrow itself opens no path that is not UTF-8."""
    with path.open("rb") as file, pyarrow.parquet.ParquetFile(file, **options) as parquet:
        yield parquet


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file whose columns are known and whose rows are read when they are asked for."""

    file: File
    named: ClassVar[bool] = True
    first_row: ClassVar[tuple[str, ...]] = ()
    in_doubt: ClassVar[bool] = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names; what pandas keeps of its index is one of them."""
        try:
            with opened(self.file.path) as parquet:
                return tuple(parquet.schema_arrow.names)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise self._broken(error) from error

    def read(self, places: Sequence[int]) -> list[pa.ChunkedArray]:
        """The columns at the given places."""
        names = self._wanted(places)
        try:
            with opened(self.file.path) as parquet:
                wanted = self._checked(parquet, names)
                table = parquet.read(wanted)
            table.validate(full=True)  # that text is UTF-8, among others
            return [table.column(name) for name in names]
        except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
            raise self._broken(error) from error

    def _checked(self, parquet: pyarrow.parquet.ParquetFile, names: Sequence[str]) -> list[str]:
        """The columns to read, each once, if they unpack to a size within the limits."""
        wanted = list(dict.fromkeys(names))
        size = _unpacked_size(parquet.metadata) + self._repeated_size(wanted)
        check_unpacked(self.file.path, self.file.path.stat().st_size, size)
        return wanted

    def _repeated_size(self, names: Sequence[str]) -> int:
        """At most this many bytes do the given columns take when repeated values are spelt out.

        A value that repeats stands once in the file, in the dictionary of its row group, and every
        row then takes next to no room: a long text would unpack to a thousand times its length.
        """
        total = 0
        with opened(self.file.path, read_dictionary=list(names)) as parquet:
            for group in range(parquet.num_row_groups):
                rows = parquet.metadata.row_group(group).num_rows
                for name in names:
                    # One row brings the whole dictionary along.
                    batches = parquet.iter_batches(1, row_groups=[group], columns=[name])
                    longest = max(
                        (_longest(batch.column(0)) for batch in islice(batches, 1)), default=0
                    )
                    total += rows * longest
        return total

    def batches(self, places: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
        """What :meth:`read` gives, some rows at a time and in memory that does not grow."""
        names = self._wanted(places)
        try:
            with opened(self.file.path) as parquet:
                wanted = self._checked(parquet, names)
                for batch in parquet.iter_batches(READ_ROWS, columns=wanted, use_threads=False):
                    batch.validate(full=True)
                    yield [pa.chunked_array([batch.column(name)]) for name in names]
        except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
            raise self._broken(error) from error

    def _wanted(self, places: Sequence[int]) -> list[str]:
        if len(set(self.names)) < len(self.names):
            raise InputError(f"{self.file.path} has two columns of one name: rename one of them")
        return [self.names[place] for place in places]

    def place_of_row(self, row: int) -> str:
        """Where a row stands, counted from 0, for an error message."""
        return f"row {row + 1:,}"

    def _broken(self, error: BaseException) -> InputError:
        return self.file.not_what_it_says("a whole Parquet file", one_line(error))


def _unpacked_size(metadata: pyarrow.parquet.FileMetaData) -> int:
    """What the pages of all columns unpack to, as the file states it."""
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    return sum(group.total_byte_size for group in groups)


def _longest(cells: pa.Array) -> int:
    """Bytes that a cell takes at most."""
    values = cells.dictionary if pa.types.is_dictionary(cells.type) else cells
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return (pc.max(pc.binary_length(values)).as_py() or 0) + 8
    return 8
