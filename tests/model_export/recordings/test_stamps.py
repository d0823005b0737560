"""Time stamps: every way to write a time, the order of day and month, and local time."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import parse_time
from model_export.recordings.stamps import UNREADABLE, parse_stamps, zone

AT_MS = 1_706_782_530_000  # 2024-02-01T10:15:30Z
PARIS = "Europe/Paris"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2024-02-01T10:15:30Z", AT_MS),
        ("2024-02-01 10:15:30", AT_MS),
        ("2024-02-01T15:45:30+05:30", AT_MS),
        ("2024-02-01T10:15:30.250Z", AT_MS + 250),
        (1_706_782_530, AT_MS),
        (1_706_782_530.25, AT_MS + 250),
        (1_706_782_530_000, AT_MS),
        (pd.Timestamp("2024-02-01T10:15:30Z"), AT_MS),
        (pd.Timestamp("2024-02-01T10:15:30"), AT_MS),
        ("13/02/2024 10:15", 1_707_819_300_000),
        ("02/13/2024 10:15:00 AM", 1_707_819_300_000),
        ("13.2.24", 1_707_782_400_000),
        ("13/02/2024 10:15:00.250", 1_707_819_300_250),
        ("13.02.2024 10:15:00,5", 1_707_819_300_500),
        ("02/13/2024 10:15:00.25 PM", 1_707_862_500_250),
        ("2024-02-30T00:00:00Z", UNREADABLE),
        ("9999-12-31T00:00:00Z", UNREADABLE),
        ("1800-01-01T00:00:00Z", UNREADABLE),
        ("", UNREADABLE),
        (None, UNREADABLE),
        (-5, UNREADABLE),
        (float("inf"), UNREADABLE),
        (1e300, UNREADABLE),
    ],
)
def test_each_way_to_write_a_time(written: Any, expected: int) -> None:
    """ISO 8601, epoch and Parquet times are read; dates that could mean two things are not."""
    assert [expected] == parse_stamps(pd.Series([written])).at_ms.tolist()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("202402011015", AT_MS - 30_000),
        (202402011015, AT_MS - 30_000),
        (20240201101530.0, AT_MS),
        ("20240201", 1_706_745_600_000),
        ("202402301015", UNREADABLE),
        ("202402012415", UNREADABLE),
        ("202402011060", UNREADABLE),
    ],
)
def test_digits_without_a_mark_are_year_month_and_day(written: Any, expected: int) -> None:
    """As epoch they would be in 1970 or 1976, when nobody had such a sensor; and they have no zone."""
    found = parse_stamps(pd.Series([written, None]))
    assert found.at_ms.tolist() == [expected, UNREADABLE]
    paris = parse_stamps(pd.Series([written]), zone(PARIS))
    assert paris.at_ms.tolist() == [expected - 3_600_000 if expected != UNREADABLE else UNREADABLE]


@pytest.mark.parametrize("other", ["2024-02-20 10:15", "18.02.2024 10:15 CET", "18.02.2024 10:15 +05:30"])
def test_a_stamp_that_is_written_in_another_way_than_most_is_not_read(other: str) -> None:
    """Part of it may look like a date, such as 24-02-20 in 2024-02-20."""
    column = pd.Series(["13/02/2024 10:15", "14/02/2024 10:15", other])
    assert parse_stamps(column).at_ms.tolist() == [1_707_819_300_000, 1_707_905_700_000, UNREADABLE]


@pytest.mark.parametrize("mark", ["Z", "+00", "+00:00"])
def test_stamps_with_and_without_an_offset(mark: str) -> None:
    """Also with an offset of hours alone, as PostgreSQL writes it."""
    column = pd.Series([f"2024-02-01 10:15:30{mark}", "2024-02-01 15:45:30"])
    assert parse_stamps(column, zone("Asia/Kolkata")).at_ms.tolist() == [AT_MS, AT_MS]


def test_trainer_and_agent_read_the_same_time() -> None:
    """A stamp in a recording and in a message is the same moment."""
    written = ["2024-02-01T10:15:30Z", "2024-02-01T10:15:30.5+05:30", "2024-02-01T10:15:30"]
    expected = [parse_time(text) for text in written]
    assert expected == parse_stamps(pd.Series(written)).at_ms.tolist()


def test_a_local_time_takes_the_given_zone() -> None:
    """Stamps with an offset keep it; a doubled or skipped hour is not guessed from a single row."""
    column = pd.Series(
        ["2024-07-01T12:00:00", "2024-07-01T12:00:00Z", "2024-10-27T02:30:00", "2024-03-31T02:30:00"]
    )
    read = parse_stamps(column, zone("Europe/Paris"))
    expected = [parse_time("2024-07-01T10:00:00Z"), parse_time("2024-07-01T12:00:00Z"), -1, -1]
    assert (expected, True) == (read.at_ms.tolist(), read.naive)


@pytest.mark.parametrize(
    ("column", "naive"),
    [
        (pd.Series(["2024-02-01T10:15:30"]), True),
        (pd.Series(["2024-02-01T10:15:30Z"]), False),
        (pd.Series([AT_MS]), False),
        (pd.Series([None, np.nan]), False),
        (pd.to_datetime(pd.Series(["2024-02-01T10:15:30"])), True),
    ],
)
def test_it_says_whether_a_zone_was_missing(column: Any, naive: bool) -> None:
    """Only stamps that could be meant as local time are naive."""
    assert naive == parse_stamps(column).naive


def test_an_unknown_zone_is_refused() -> None:
    """The text names an example."""
    with pytest.raises(BadRecording) as caught:
        zone("Mars/Olympus")
    assert str(caught.value) == "--timezone: expected a name such as Asia/Kolkata, got 'Mars/Olympus'"


def test_where_clocks_are_set_back_the_order_of_rows_tells_the_hours_apart() -> None:
    """02:30 comes twice on 27 October 2024 in Paris: the rows step back once in between."""
    clock = ["01:30", "02:00", "02:30", "02:00", "02:30", "03:00"]
    found = parse_stamps(pd.Series([f"2024-10-27T{at}:00" for at in clock]), zone(PARIS))
    first = parse_time("2024-10-26T23:30:00Z")
    assert [(at - first) // 60_000 for at in found.at_ms.tolist()] == [0, 30, 60, 90, 120, 150]
    newest_first = parse_stamps(pd.Series([f"2024-10-27T{at}:00" for at in clock[::-1]]), zone(PARIS))
    assert newest_first.at_ms.tolist() == found.at_ms.tolist()[::-1]
    hourly = parse_stamps(pd.Series([f"2024-10-27T0{hour}:00:00" for hour in (1, 2, 2, 3)]), zone(PARIS))
    assert np.diff(hourly.at_ms).tolist() == [3_600_000] * 3


def test_hours_that_the_rows_do_not_explain_are_counted() -> None:
    """Only one of the two hours was recorded, or the hour does not exist: no guess."""
    clock = ["2024-10-27T01:30", "2024-10-27T02:00", "2024-10-27T02:30", "2024-03-31T02:30"]
    found = parse_stamps(pd.Series(clock), zone(PARIS))
    assert (found.unresolved, found.at_ms.tolist()[1:]) == (3, [UNREADABLE] * 3)


@pytest.mark.parametrize(
    ("written", "dates", "expected", "why"),
    [
        (["12.09.2017 16:53", "13.09.2017 16:53"], "auto", "2017-09-12T16:53Z", "there is 13.09.2017"),
        (["12.09.2017 16:53"], "auto", "2017-09-12T16:53Z", "as usual with points"),
        (["09/12/2017 04:53 PM", "09/13/2017 12:10 AM"], "auto", "2017-09-12T16:53Z", "there is 09/13/2017"),
        (
            [f"0{day}/02/2017 00:00" for day in range(1, 9)],
            "auto",
            "2017-02-01T00:00Z",
            "the rows then",
        ),
        (
            [f"02/0{day}/2017 00:00" for day in range(1, 9)],
            "auto",
            "2017-02-01T00:00Z",
            "the rows then",
        ),
        (["09/12/2017 12:53 PM"], "month-first", "2017-09-12T12:53Z", ""),
        (["12-09-17 16:53:30"], "day-first", "2017-09-12T16:53:30Z", ""),
    ],
)
def test_the_order_of_day_and_month_comes_from_the_data_or_an_option(
    written: list[str], dates: Any, expected: str, why: str
) -> None:
    found = parse_stamps(pd.Series(written), dates=dates)
    assert found.at_ms[0] == parse_time(expected)
    assert why in found.said
    assert bool(why) == bool(found.said)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            ["05/06/2017 10:00", "05/06/2017 10:15"],
            "expected dates that can be read in one way, got 05/06/2017; "
            "say which it is with --dates day-first or --dates month-first",
        ),
        (
            ["13/06/2017 10:00", "06/14/2017 10:15"],
            "expected one order of day and month, got 13/06/2017 and 06/14/2017; "
            "split the file or correct it",
        ),
    ],
)
def test_an_unclear_order_is_never_guessed(written: list[str], expected: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        parse_stamps(pd.Series(written))
    assert str(caught.value) == expected
