"""Dates and times as numbers: days since 1970."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskgae.base.errors import InputError
from maskgae.io.messages import shown
from maskgae.io.numbers import MISSING, as_numbers, is_text

#: A date as ISO 8601 writes it, with slashes for hyphens too, and a time of the day after it; then
#: day, month and year with points, month, day and year with slashes, and day, month and year.
_CLOCK = r"(?:[T ](?P<h>\d{2}):(?P<min>\d{2})(?::(?P<s>\d{2}(?:\.\d+)?))?(?:Z|[+-]\d{2}:?\d{2})?)?"
PATTERNS = (
    r"^(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})" + _CLOCK + "$",
    r"^(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})" + _CLOCK + "$",
    r"^(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>\d{4})" + _CLOCK + "$",
    r"^(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4})" + _CLOCK + "$",
)

Array = np.ndarray[Any, Any]


def as_times(cells: Any) -> tuple[Array, int | None]:
    """Cells as days since 1970, NaN where they are missing, and the place of the first wrong one.

    Text may be a date such as ``2019-03-31``, ``2019/3/31``, ``31.3.2019``, ``3/31/2019`` or
    ``31/3/2019``, all of a column in one form (of the last two the former where both fit), with a
    time of the day after it; a zone beside it is left out.

    >>> values, wrong = as_times(pa.array(["1970-01-02", "", "1970-01-02 12:00", "soon"]))
    >>> values.tolist(), wrong
    ([1.0, nan, 1.5, nan], 3)
    """
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_date(cells.type) or pa.types.is_timestamp(cells.type):
        seconds = cells.cast(pa.timestamp("s"), safe=False).cast(pa.int64()).cast(pa.float64())
        return _numpy(pc.divide(seconds, 86400.0)), None
    if not is_text(cells.type):
        return np.full(len(cells), np.nan), 0 if len(cells) else None
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    words = pc.fill_null(pc.utf8_trim_whitespace(cells.cast(pa.string())), "")
    missing = np.asarray(pc.is_in(pc.utf8_lower(words), value_set=pa.array(MISSING)))
    read = [_read(words, pattern) for pattern in PATTERNS]
    best = max(read, key=lambda values: int((~np.isnan(values)).sum()))
    wrong = np.flatnonzero(np.isnan(best) & ~missing)
    return best, int(wrong[0]) if wrong.size else None


def parse_times(cells: Any, path: Path, place_of_row: Callable[[int], str]) -> Array:
    """A column of times: numbers as they are, dates as days since 1970, ``[n]``."""
    dated = pa.types.is_date(cells.type) or pa.types.is_timestamp(cells.type)
    values, wrong = as_times(cells) if dated else as_numbers(cells)
    if wrong is not None and not dated:
        values, wrong = as_times(cells)
    bad = np.flatnonzero(~np.isfinite(values))
    wrong = int(bad[0]) if wrong is None and bad.size else wrong
    if wrong is not None:
        raise InputError(
            f"{path}: a time must be a number or a date, but {place_of_row(wrong)} has "
            f"{shown(cells[wrong].as_py())}: mend or drop that row, or name another column"
        )
    return values


def moment(text: str, key: str, span: tuple[float, float] = (-np.inf, np.inf)) -> float:
    """A setting's time as :func:`parse_times` reads times.

    A year beyond the ``span`` of a column is its first day where that lies within: the column has
    dates.

    >>> moment("2018", "split.val_from"), moment("1970-01-03", "split.val_from")
    (2018.0, 2.0)
    >>> moment("1971", "split.val_from", (100.0, 500.0))
    365.0
    """
    cell = pa.array([text])
    for read in (as_numbers, as_times):
        values, wrong = read(cell)
        if wrong is None and np.isfinite(values).all():
            break
    else:
        raise InputError(f"{key} = '{text}' is no time: give a number or a date such as 2019-03-31")
    if not span[0] <= values[0] <= span[1] and text.isdigit() and len(text) == 4:
        first = float(as_times(pa.array([f"{text}-01-01"]))[0][0])
        return first if span[0] <= first <= span[1] else float(values[0])
    return float(values[0])


def _read(words: Any, pattern: str) -> Array:
    """Days by one pattern, NaN where it does not fit or the calendar has no such day."""
    found = pc.extract_regex(words, pattern)
    part = {
        name: _number(pc.struct_field(found, name)) for name in ("y", "m", "d", "h", "min", "s")
    }
    days = np.full(len(found), np.nan)
    fits = ~np.isnan(part["y"]) & (part["m"] >= 1) & (part["m"] <= 12) & (part["d"] >= 1)
    fits &= (np.nan_to_num(part["h"]) < 24) & (np.nan_to_num(part["min"]) < 60)
    months = (part["y"][fits] - 1970) * 12 + part["m"][fits] - 1
    first, following = (
        (months + step).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        for step in (0, 1)
    )
    day = first + part["d"][fits] - 1
    clock = sum(np.nan_to_num(part[name][fits]) / by for name, by in _PARTS_OF_A_DAY.items())
    days[fits] = np.where(day < following, day + clock, np.nan)
    return days


_PARTS_OF_A_DAY = {"h": 24, "min": 1440, "s": 86400}


def _number(cells: Any) -> Array:
    return _numpy(pc.if_else(pc.equal(cells, ""), None, cells).cast(pa.float64()))


def _numpy(values: Any) -> Array:
    return np.array(pc.fill_null(values, float("nan")).to_numpy(zero_copy_only=False))
