"""Parquet files as columns with types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet

from maskgae.errors import InputError
from maskgae.graph.readers.messages import one_line
from maskgae.graph.readers.sources import File, check_unpacked


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file whose columns are known and whose rows are read when they are asked for."""

    file: File
    named: ClassVar[bool] = True
    first_row: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names; what pandas keeps of its index is one of them."""
        try:
            with pyarrow.parquet.ParquetFile(self.file.path) as parquet:
                return tuple(parquet.schema_arrow.names)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise self._broken(error) from error

    def read(self, places: Sequence[int]) -> list[pa.ChunkedArray]:
        """The columns at the given places."""
        names = [self.names[place] for place in places]
        if len(set(self.names)) < len(self.names):
            raise InputError(f"{self.file.path} has two columns of one name: rename one of them")
        try:
            with pyarrow.parquet.ParquetFile(self.file.path) as parquet:
                # Repeated values take next to no room in the file, but 8 bytes a row in memory.
                unpacked = 8 * parquet.metadata.num_rows * len(set(names))
                check_unpacked(self.file.path, self.file.path.stat().st_size, unpacked)
                table = parquet.read(list(dict.fromkeys(names)))
            table.validate(full=True)  # that text is UTF-8, among others
            return [table.column(name) for name in names]
        except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
            raise self._broken(error) from error

    def place_of_row(self, row: int) -> str:
        """Where a row stands, counted from 0, for an error message."""
        return f"row {row + 1:,}"

    def _broken(self, error: BaseException) -> InputError:
        return self.file.not_what_it_says("a whole Parquet file", one_line(error))
