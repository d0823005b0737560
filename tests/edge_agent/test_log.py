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


def test_one_reason_does_not_hide_another(limited: Limited) -> None:
    """A flood of one kind of wrong payload must not hide the others."""
    with capture_logs() as events:
        for at_ms in range(0, 1_000, 100):
            limited.warning(at_ms, "reading.rejected", kind="number")
            limited.warning(at_ms, "reading.rejected", kind="time")
        limited.warning(10_000, "reading.rejected", kind="time")
    assert [(event["kind"], event["since_last"]) for event in events] == [
        ("number", 1),
        ("time", 1),
        ("time", 10),
    ]


def test_one_broker_does_not_hide_another(limited: Limited) -> None:
    with capture_logs() as events:
        for broker in ("127.0.0.1:1883", "city.example:8883"):
            limited.warning(0, "broker.unreachable", broker=broker)
    assert [event["broker"] for event in events] == ["127.0.0.1:1883", "city.example:8883"]


@pytest.mark.parametrize("redirect", ["2>&-", "2>/dev/full", "2> >(true)"])
def test_a_log_that_nobody_takes_ends_nothing(redirect: str) -> None:
    """Closed, full, or a pipe whose reader has gone."""
    tell = "import time\n" + TELL.format(level="info", form="json") + "logger().error('x')\nprint('on')\n"
    command = ["bash", "-c", f'"$0" -c "$1" {redirect}', sys.executable, tell]
    assert run_program(command, capture_output=True, text=True, check=True).stdout == "on\n"


def test_in_the_journal_every_line_has_its_priority() -> None:
    """So that `journalctl -p err` shows the errors; also each line of a traceback for eyes."""
    tell = TELL.format(level="info", form="{form}")
    name = "import os; s = os.fstat(2); os.environ['JOURNAL_STREAM'] = f'{s.st_dev}:{s.st_ino}'\n"
    for form in ("json", "pretty"):
        command = [sys.executable, "-c", name + tell.replace("{form}", form)]
        lines = run_program(command, capture_output=True, text=True, check=True).stderr.splitlines()
        assert {line[:3] for line in lines} == {"<6>", "<3>", "<2>"}
        assert lines[-1].startswith("<2>")
    assert json.loads(lines[0][3:] if form == "json" else "{}") is not None


def test_outside_the_journal_no_line_has_a_prefix() -> None:
    """The variable is inherited by programs whose stderr is something else."""
    name = "import os; os.environ['JOURNAL_STREAM'] = '1:2'\n"
    command = [sys.executable, "-c", name + TELL.format(level="info", form="json")]
    err = run_program(command, capture_output=True, text=True, check=True).stderr
    assert all(line.startswith("{") for line in err.splitlines())


def test_one_kind_of_event_does_not_hide_another(limited: Limited) -> None:
    with capture_logs() as events:
        limited.warning(5, "reading.rejected")
        limited.warning(6, "reading.too_late")
        limited.warning(7, "reading.too_late")
    assert [event["event"] for event in events] == ["reading.rejected", "reading.too_late"]
