"""`edge-agent status`: the last health record, as a table for people, as JSON or as Prometheus metrics."""

import json
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from edge_agent import brokers, mqtt
from edge_agent.archive import newest_health
from edge_agent.core.errors import RespireError
from edge_agent.settings import Settings
from edge_agent.terminal import DONE, FAILED, aligned, load_settings, say

ANSWER_S = 5.0
REPORTS_MISSED = 3  # after so many missing health reports the agent is not running
REPORT_S = 3  # a busy agent needs so long to commit a report
DAMAGE = (ValueError, TypeError, KeyError, AttributeError)


def status(config: Path | None, ask_broker: bool, form: str | None) -> int:
    """Print the last health record in a form, or as suits stdout; FAILED if the agent is not running."""
    settings = load_settings(config)
    health = _from_broker(settings) if ask_broker else newest_health(settings.state)
    try:
        record = json.loads(health)
        # Not parse_time, which ends in 2100: a clock that was not set may be in any year.
        age_s = time.time() - datetime.fromisoformat(record["at"]).timestamp()
        dead = age_s > REPORTS_MISSED * record["interval_s"] + REPORT_S
        text = _shown(record, health, age_s, dead, form)
    except DAMAGE as error:
        raise RespireError(f"status: expected a health record, got {health[:60]!r}") from error
    print(text)
    if form == "prometheus":
        return DONE  # edge_agent_up says whether it runs
    if dead:
        since = _time(record["at"])
        say(f"status: not running since {since}; its last health report is {_duration(age_s)} old")
    return FAILED if dead else DONE


def _shown(record: dict[str, Any], health: str, age_s: float, dead: bool, form: str | None) -> str:
    if form == "prometheus":
        from edge_agent.prometheus import exposition  # noqa: PLC0415 - only who asks for it

        return exposition(record, running=not dead)
    table = "\n".join(_table(record, age_s, dead))
    return health if form == "json" or not sys.stdout.isatty() else table


def _from_broker(settings: Settings) -> str:
    there = brokers.beside(settings.uplink or settings.broker, settings.agent)
    return mqtt.retained(there, settings.own_topics.health, ANSWER_S).decode(errors="replace")


def _table(record: dict[str, Any], age_s: float, dead: bool) -> Iterator[str]:
    """The record for people: what runs, what came in, what waits, then a line for each sensor."""
    outbox, readings = record["outbox"], record["readings"]
    state = "not running" if dead else f"running for {_duration(record['uptime_s'])}"
    yield f"agent     {record['agent']}, {state}, version {record['version']}"
    yield f"report    {_time(record['at'])}, {_duration(age_s)} ago"
    yield f"clock     {record['clock']}"
    yield f"readings  {', '.join(f'{n} {kind}' for kind, n in readings.items() if n) or 'none'}"
    if record.get("position"):
        yield f"position  {_position(record['position'])}"
    waited = "" if outbox["oldest_s"] is None else f", the oldest for {_duration(outbox['oldest_s'])}"
    yield f"outbox    {outbox['depth']} estimates wait{waited}; {outbox['dropped']} dropped"
    yield f"journal   {record['journal_bytes'] / 1e6:.1f} MB; memory {record['rss_bytes'] / 1e6:.0f} MB"
    for sensor, score in (record.get("reference") or {"scores": {}})["scores"].items():
        yield f"score     {sensor}: {_score(score)}"
    for problem in record.get("problems", ()):
        where = f"{problem['sensor']}: " if "sensor" in problem else ""
        since = _time(problem["since"])
        yield f"problem   {where}{problem['code']} since {since}: {problem['advice']}"
    yield ""
    yield from aligned(
        [
            ("sensor", "model", "valid until", "last reading", "silent", "stuck"),
            *(_sensor(name, each) for name, each in record["sensors"].items()),
        ]
    )


def _position(told: dict[str, Any]) -> str:
    """Where the position comes from, and how old the newest fix is."""
    at = "" if told["site"] is None else f", at site {told['site']}"
    if told["source"] == "fixed":
        return f"fixed{at}"
    age = "no fix yet" if told["age_s"] is None else f"newest fix {_duration(told['age_s'])} old"
    return f"{told['source']}, {age}{at}"


def _score(told: dict[str, Any]) -> str:
    """How well a sensor agrees with the reference beside the van."""
    r2 = "" if told["r2"] is None else f", R² {told['r2']:.2f}"
    covers = "" if told["coverage"] is None else f", the interval covers {told['coverage']:.0%}"
    span = f"over {told['windows']} windows until {_time(told['to'])}"
    return f"bias {told['bias']:+.3g} {told['unit']}{r2}{covers}, {span}"


def _sensor(name: str, told: dict[str, Any]) -> tuple[str, ...]:
    last, model, until = told["last_reading"], told["model"], told.get("valid_until")
    return (
        name,
        str(model).removeprefix("sha256:") if model else "none",
        until[:10] if until else "-",
        _time(last) if last else "none",
        " ".join(told["silent"]) or "-",
        " ".join(told["stuck"]) or "-",
    )


def _time(at: str) -> str:
    return f"{at[:10]} {at[11:19]} UTC"


def _duration(seconds: float) -> str:
    """In the two largest units.

    >>> [_duration(seconds) for seconds in (-3, 59.6, 3_700, 90_061)]
    ['0 s', '59 s', '1 h 1 min', '1 d 1 h']
    """
    left, parts = max(0, int(seconds)), list[str]()
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if left >= length or (unit == "s" and not parts):
            parts.append(f"{left // length} {unit}")
            left %= length
    return " ".join(parts[:2])
