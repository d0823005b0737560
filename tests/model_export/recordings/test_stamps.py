"""Time stamps in tables."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import parse_time
from model_export.recordings import stamps

AT_MS = 1_706_782_530_000  # 2024-02-01T10:15:30Z


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
        ("01/02/2024 10:15", stamps.UNREADABLE),
        ("2024-02-30T00:00:00Z", stamps.UNREADABLE),
        ("9999-12-31T00:00:00Z", stamps.UNREADABLE),
        ("1800-01-01T00:00:00Z", stamps.UNREADABLE),
        ("", stamps.UNREADABLE),
        (None, stamps.UNREADABLE),
        (-5, stamps.UNREADABLE),
        (float("inf"), stamps.UNREADABLE),
        (1e300, stamps.UNREADABLE),
    ],
)
def test_each_way_to_write_a_time(written: Any, expected: int) -> None:
    """ISO 8601, epoch and Parquet times are read; dates that could mean two things are not."""
    assert [expected] == stamps.parse(pd.Series([written])).at_ms.tolist()


def test_trainer_and_agent_read_the_same_time() -> None:
    """A stamp in a recording and in a message is the same moment."""
    written = ["2024-02-01T10:15:30Z", "2024-02-01T10:15:30.5+05:30", "2024-02-01T10:15:30"]
    expected = [parse_time(text) for text in written]
    assert expected == stamps.parse(pd.Series(written)).at_ms.tolist()


def test_a_local_time_takes_the_given_zone() -> None:
    """Stamps with an offset keep it; those without are local; a doubled or skipped hour is not guessed."""
    column = pd.Series(
        ["2024-07-01T12:00:00", "2024-07-01T12:00:00Z", "2024-10-27T02:30:00", "2024-03-31T02:30:00"]
    )
    read = stamps.parse(column, stamps.zone("Europe/Paris"))
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
    assert naive == stamps.parse(column).naive


def test_an_unknown_zone_is_refused() -> None:
    """The text names an example."""
    with pytest.raises(BadRecording) as caught:
        stamps.zone("Mars/Olympus")
    assert str(caught.value) == "--timezone: expected a name such as Asia/Kolkata, got 'Mars/Olympus'"
