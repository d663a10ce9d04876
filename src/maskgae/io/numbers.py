"""Cells as numbers, and weights of edges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskgae.base.errors import InputError
from maskgae.data.pairs import unfit_weights
from maskgae.io.messages import shown

#: What stands for a missing number, in any case.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?")

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NO_WEIGHTS = "mend or drop that row, or read no weights (--read weight=none)"
_TRUE, _FALSE = ("true", "yes"), ("false", "no")


def as_numbers(cells: Any) -> tuple[np.ndarray[Any, Any], int | None]:
    """Cells as float64, NaN where they are missing, and the place of the first that is no number.

    Text may be a decimal number, one of :data:`MISSING`, or true, false, yes, no in any case.
    Times become seconds.

    >>> values, wrong = as_numbers(pa.array(["1", "", "2e1", "True", "x"]))
    >>> values.tolist(), wrong
    ([1.0, nan, 20.0, 1.0, nan], 4)
    """
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_temporal(cells.type):
        cells = _seconds(cells)
    if is_text(cells.type):
        return _from_text(cells)
    try:
        values = cells.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.full(len(cells), np.nan), 0
    return _to_numpy(values), None


def parse_weights(
    cells: Any, path: Path, place_of_row: Callable[[int], str]
) -> np.ndarray[Any, Any]:
    """A column of weights as positive numbers, ``[E]``."""
    values, wrong = as_numbers(cells)
    if wrong is None and (nothing := np.flatnonzero(np.isnan(values))).size:
        wrong = int(nothing[0])
    if wrong is not None:
        raise InputError(
            f"{path}: a weight must be a positive number, but {place_of_row(wrong)} has "
            f"{shown(cells[wrong].as_py())}: {_NO_WEIGHTS}"
        )
    check_weights(values, path, place_of_row)
    return values


def check_weights(
    values: np.ndarray[Any, Any], path: Path, place_of_row: Callable[[int], str]
) -> None:
    """Refuses weights that are not positive, or that 32 bits round to zero or to infinity."""
    bad = unfit_weights(values)
    if bad.size:
        raise InputError(
            f"{path}: a weight must be a positive number, but {place_of_row(int(bad[0]))} has "
            f"{values[bad[0]]:g}: {_NO_WEIGHTS}"
        )


def _from_text(cells: Any) -> tuple[np.ndarray[Any, Any], int | None]:
    words = pc.utf8_trim_whitespace(cells.cast(pa.string()))
    is_number = pc.match_substring_regex(words, _NUMBER)
    values = pc.if_else(is_number, words, None).cast(pa.float64())
    if pc.all(is_number, min_count=0).as_py() and words.null_count == 0:
        return _to_numpy(values), None
    lowered = pc.utf8_lower(words)
    is_true = pc.is_in(lowered, value_set=pa.array(_TRUE))
    is_false = pc.is_in(lowered, value_set=pa.array(_FALSE))
    missing = pc.or_(pc.is_in(lowered, value_set=pa.array(MISSING)), pc.is_null(words))
    values = pc.if_else(is_true, 1.0, pc.if_else(is_false, 0.0, values))
    known = pc.or_(pc.or_(pc.fill_null(is_number, False), missing), pc.or_(is_true, is_false))
    place = pc.index(known, False).as_py()
    return _to_numpy(values), None if place < 0 else place


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def _seconds(cells: Any) -> Any:
    if pa.types.is_time(cells.type):
        return pc.divide(cells.cast(pa.time64("ns")).cast(pa.int64()), 10**9)
    if pa.types.is_duration(cells.type):
        return cells.cast(pa.duration("s"), safe=False).cast(pa.int64())
    return cells.cast(pa.timestamp("s"), safe=False).cast(pa.int64())


def _to_numpy(values: Any) -> np.ndarray[Any, Any]:
    """Float64 with NaN for what is null, writable."""
    filled = pc.fill_null(values, float("nan"))
    array = filled.to_numpy() if isinstance(filled, pa.ChunkedArray) else filled.to_numpy(False)
    return np.array(array, dtype=np.float64)
