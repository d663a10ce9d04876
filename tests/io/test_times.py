"""Dates as numbers: forms of a date, days that no calendar has, and columns of a table."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

from maskgae.base.errors import InputError
from maskgae.io import TableEncoder, fit_encoder
from maskgae.io.ids import as_ids
from maskgae.io.tables import NodeTable
from maskgae.io.times import as_times


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M"]
)
def test_every_form_of_a_date_gives_its_day(form: str) -> None:
    start = datetime.datetime(1890, 5, 17, 6, 30)
    dates = [start + datetime.timedelta(days=737 * i) for i in range(90)]
    values, wrong = as_times(pa.array([date.strftime(form) for date in dates]))
    clock = 0.0 if "%H" not in form else 6.5 / 24
    epoch = datetime.date(1970, 1, 1)
    assert wrong is None
    assert values.tolist() == pytest.approx([(d.date() - epoch).days + clock for d in dates])


def test_the_day_may_stand_before_the_month() -> None:
    values, wrong = as_times(pa.array(["1/2/1970", "31/1/1970"]))
    assert wrong is None and values.tolist() == [31, 30]


@pytest.mark.parametrize(
    "word", ["2021-02-29", "2020-13-01", "2020-00-10", "soon", "2020", "24.12."]
)
def test_what_no_calendar_has_is_no_date(word: str) -> None:
    assert as_times(pa.array(["2020-02-29", word]))[1] == 1


def table(*dates: str) -> NodeTable:
    return NodeTable(as_ids("abcd"[: len(dates)]), {"since": pa.chunked_array([list(dates)])})


def test_a_column_of_dates_becomes_one_standardised_number() -> None:
    known = table("2020-01-01", "2020-01-03", "2020-01-01", "2020-01-03")
    encoder = fit_encoder(known)
    assert list(encoder.rows()) == [("since", "date", 1)]
    features = TableEncoder.from_json(encoder.to_json()).transform(known)
    assert features is not None and features.dense().flatten().tolist() == [-1, 1, -1, 1]
    later = encoder.transform(table("2020-01-05 00:00", "2020-01-02"))
    assert later is not None and later.dense().flatten().tolist() == [3, 0]


def test_a_missing_date_is_a_missing_number() -> None:
    gappy = table("2020-01-01", "2020-01-03", "NA")
    with pytest.raises(InputError, match=r"'NA'.*--missing"):
        fit_encoder(gappy)
    features = fit_encoder(gappy, missing="mean").transform(gappy)
    assert features is not None and np.isclose(features.dense()[2, 0], 0)


def test_another_word_later_is_refused() -> None:
    encoder = fit_encoder(table("2020-01-01", "2020-01-03"))
    with pytest.raises(InputError, match=r"dates as when it was fitted.*'soon'"):
        encoder.transform(table("2020-01-01", "soon"))
