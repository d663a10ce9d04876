"""Columns as numbers."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from maskgae.io.numbers import as_numbers


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (dt.datetime(1970, 1, 1, 0, 1, 30), pa.timestamp("us")),
        (dt.timedelta(seconds=90), pa.duration("us")),
        (dt.time(0, 1, 30), pa.time32("ms")),
        (dt.time(0, 1, 30), pa.time64("us")),
    ],
    ids=["timestamp", "duration", "time32", "time64"],
)
def test_times_of_every_kind_become_seconds(value: Any, kind: pa.DataType) -> None:
    values, wrong = as_numbers(pa.chunked_array([pa.array([value, None], kind)]))
    assert values[0] == 90 and wrong is None
