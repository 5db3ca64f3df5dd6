"""Dates and times: the same decision for every container and format, and days on request."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dcd
from dcd.table.dataset import TableOptions
from dcd.table.dates import are_dates
from dcd.table.from_file import open_file
from dcd.table.reading import read_table

pytestmark = pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")

N = 40
DAYS = [18_262 + 3 * i + i % 4 for i in range(N)]  # since 1 January 1970
DATES = [dt.date(1970, 1, 1) + dt.timedelta(days=day) for day in DAYS]
FRAME = pd.DataFrame({"a": np.random.default_rng(0).standard_normal(N), "day": pd.to_datetime(DATES)})
TEXT = FRAME.assign(day=[day.isoformat() for day in DATES])
MESSAGE = r"column 'day': not numeric \(dates or times\)\. Declare it continuous to convert it"

CONTAINERS = {
    "pandas": FRAME,
    "pandas with a time zone": FRAME.assign(day=FRAME["day"].dt.tz_localize("UTC")),
    "pandas, objects": FRAME.assign(day=pd.Series(DATES, dtype=object)),
    "text": TEXT,
    "polars": pl.from_pandas(FRAME),
    "polars, dates": pl.DataFrame({"a": FRAME["a"].to_numpy(), "day": DATES}),
    "pyarrow": pa.Table.from_pandas(FRAME),
    "pyarrow, dates": pa.table({"a": FRAME["a"].to_numpy(), "day": pa.array(DATES, pa.date32())}),
}
WRITERS = {
    "data.csv": lambda path: FRAME.to_csv(path, index=False),
    "data.parquet": lambda path: FRAME.to_parquet(path),
    "dates.parquet": lambda path: FRAME.assign(day=pd.Series(DATES, dtype=object)).to_parquet(path),
    "data.feather": lambda path: FRAME.to_feather(path),
    "data.xlsx": lambda path: FRAME.to_excel(path, index=False),
}


def in_days(table):
    return read_table(table, options=TableOptions(kinds={"day": "continuous"}))


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_is_refused_alike_and_gives_days_on_request(container):
    with pytest.raises(dcd.InputError, match=MESSAGE):
        read_table(CONTAINERS[container])
    dataset = in_days(CONTAINERS[container])
    np.testing.assert_array_equal(dataset.values[:, 1], DAYS)
    assert dataset.summary.kind_reasons["day"] == "as declared, in days"
    assert dataset.summary.dates == ("day",)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_is_refused_alike_and_gives_days_on_request(name, tmp_path):
    WRITERS[name](tmp_path / name)
    with pytest.raises(dcd.InputError, match=MESSAGE):
        read_table(open_file(tmp_path / name))
    np.testing.assert_array_equal(in_days(open_file(tmp_path / name)).values[:, 1], DAYS)


def test_times_and_durations_are_days_with_fractions():
    moments = pd.to_datetime(DATES) + pd.Timedelta(hours=6)
    for day in (moments, [moment.isoformat() for moment in moments], list(moments.to_pydatetime())):
        np.testing.assert_allclose(in_days(FRAME.assign(day=day)).values[:, 1], np.add(DAYS, 0.25))
    spans = pd.to_timedelta(np.arange(N) * 12, unit="h")
    for day in (spans, list(spans.to_pytimedelta()), spans.to_numpy().astype("m8[h]")):
        table = FRAME.assign(day=day)
        with pytest.raises(dcd.InputError, match="dates or times"):
            read_table(table)
        np.testing.assert_allclose(in_days(table).values[:, 1], np.arange(N) / 2)


def test_missing_dates_stay_missing():
    options = TableOptions(kinds={"day": "ordinal"}, missing="complete-rows")
    for table in (FRAME, TEXT, FRAME.assign(day=pd.Series(DATES, dtype=object))):
        gappy = table.copy()
        gappy.loc[[0, 7], "day"] = None
        with pytest.warns(dcd.errors.RowsLostWarning):
            dataset = read_table(gappy, options=options)
        np.testing.assert_array_equal(dataset.values[:, 1], np.delete(DAYS, [0, 7]))


def test_few_dates_as_text_can_be_categories():
    table = FRAME.assign(day=["2020-01-01", "2020-01-02", "2020-02-01", "2020-01-01"] * 10)
    with pytest.raises(dcd.InputError, match=MESSAGE):
        read_table(table)
    dataset = read_table(table, options=TableOptions(kinds={"day": "nominal"}))
    assert dataset.kinds[1] == "nominal"
    assert dataset.summary.dates == ()


@pytest.mark.parametrize("written", ["%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%H:%M:%S"])
def test_text_whose_order_is_unclear_is_not_turned_into_days(written):
    table = FRAME.assign(day=[day.strftime(written) for day in pd.to_datetime(DATES) + pd.Timedelta("1s")])
    table.loc[0, "day"] = pd.Timestamp("2020-01-31 10:11:12").strftime(written)
    with pytest.raises(dcd.InputError, match=MESSAGE):
        read_table(table)
    with pytest.raises(dcd.InputError, match=r"column 'day': has dates such as .* Write them as 2024-01-31"):
        in_days(table)


@pytest.mark.parametrize(
    "words",
    [
        ["2020-01-01", "unknown"],
        ["1.2.3", "1.10.2"],
        ["10:1", "2:5"],
        ["12-34", "56-78"],
        ["2020", "2021"],
        ["march", "may"],
        [],
    ],
)
def test_other_text_is_not_a_date(words):
    assert not are_dates(words)


def test_the_audit_tells_of_dates():
    audited = dcd.audit(TEXT)
    assert not audited.ok
    (day,) = [column for column in audited.columns if column.name == "day"]
    assert day.n_missing == 0
    assert "dates or times" in day.problem
    assert dcd.audit(TEXT, kinds={"day": "continuous"}).columns[1].problem is None
