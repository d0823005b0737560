"""Log events: whole lines as journald gets them, and repeated ones at a limited rate."""

import json
import sys

import pytest
import structlog
from structlog.testing import capture_logs

from edge_agent.log import Limited
from tests.support.processes import run_program

TELL = (
    "from edge_agent.log import configure, logger\n"
    "configure({level!r}, {form!r})\n"
    "logger().info('window.closed', sensor='5A2D', value=0.834, reasons=[])\n"
    "logger().error('bundle.refused', reason='a \\n b')\n"
    "try: 1 / 0\n"
    "except ZeroDivisionError: logger().critical('thread.died', exc_info=True)\n"
)


def told(level: str, form: str) -> tuple[str, str]:
    """What a fresh process says on stdout and stderr."""
    command = [sys.executable, "-c", TELL.format(level=level, form=form)]
    done = run_program(command, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_under_systemd_every_event_is_one_line_of_json() -> None:
    """Also one with a traceback or a line break in it; and stdout stays data."""
    out, err = told("info", "auto")
    events = [json.loads(line) for line in err.splitlines()]
    stamps = [event.pop("timestamp") for event in events]
    died = events.pop()
    assert out == ""
    assert events == [
        {"event": "window.closed", "level": "info", "sensor": "5A2D", "value": 0.834, "reasons": []},
        {"event": "bundle.refused", "level": "error", "reason": "a \n b"},
    ]
    assert (died["event"], died["level"]) == ("thread.died", "critical")
    assert died["exception"].endswith("ZeroDivisionError: division by zero")
    assert all(stamp.endswith("Z") for stamp in stamps)


def test_a_level_keeps_lesser_events_away() -> None:
    _, err = told("error", "json")
    assert [json.loads(line)["event"] for line in err.splitlines()] == ["bundle.refused", "thread.died"]


def test_on_a_terminal_events_are_for_eyes() -> None:
    _, err = told("info", "pretty")
    assert "window.closed" in err
    assert not err.startswith("{")


@pytest.fixture
def limited() -> Limited:
    structlog.reset_defaults()
    return Limited(every_ms=10_000)


def test_a_flood_is_told_once_in_a_while_with_its_size(limited: Limited) -> None:
    with capture_logs() as events:
        for at_ms in range(0, 25_000, 100):
            limited.warning(at_ms, "reading.rejected", reason=f"at {at_ms}")
    assert events == [
        {"event": "reading.rejected", "log_level": "warning", "reason": "at 0", "since_last": 1},
        {"event": "reading.rejected", "log_level": "warning", "reason": "at 10000", "since_last": 100},
        {"event": "reading.rejected", "log_level": "warning", "reason": "at 20000", "since_last": 100},
    ]


def test_one_kind_of_event_does_not_hide_another(limited: Limited) -> None:
    with capture_logs() as events:
        limited.warning(5, "reading.rejected")
        limited.warning(6, "reading.late")
        limited.warning(7, "reading.late")
    assert [event["event"] for event in events] == ["reading.rejected", "reading.late"]
