"""`edge-agent doctor`: what the agent thinks of each sensor, with the evidence, from the journal."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from edge_agent.archive import Archive
from edge_agent.core.errors import BadEstimate
from edge_agent.core.examination import CLEAR_DAYS, LEARN_DAYS, Examination, stored_examination, threshold
from edge_agent.core.messages import Estimate, decode_estimate, format_time
from edge_agent.core.problems import ADVICE
from edge_agent.core.suspicions import CODES, DAY_MS, FACT
from edge_agent.core.van_day import VanDay, updated
from edge_agent.settings import Consensus, Settings
from edge_agent.terminal import DONE, load_settings, say

NEVER_MS = 1 << 50
LATELY = 96  # estimates
UNBOUNDED = "no sensor has an interval, so they cannot be compared; model-export adapt measures one"


def doctor(config: Path | None, as_json: bool) -> int:
    """Print one opinion for each sensor: words on a terminal, otherwise JSON."""
    settings = load_settings(config)
    with closing(Archive(settings.state)) as archive:
        chosen = settings.consensus or Consensus()
        sensors = [sensor for sensor in archive.sensors() if chosen.takes(sensor)]
        # If the agent examines nothing now, what it found before is old.
        known = _stored(archive, sensors) if settings.consensus else {}
        if not known and len(sensors) > 1:
            say("doctor: no examination by the agent; this one uses the days in the journal")
            known = _from_estimates(archive, sensors, settings)
        lately = {sensor: _lately(archive, sensor) for sensor in sensors}
    bounded = {each for _, found in lately.values() for each in found} != {False}
    known = {sensor: each for sensor, each in known.items() if lately[sensor][0] in (None, each.model)}
    opinions = [opinion(sensor, known.get(sensor), bounded) for sensor in sensors]
    if as_json or not sys.stdout.isatty():
        print(json.dumps(opinions, indent=1))
    else:
        print("\n".join(line for each in opinions for line in _words(each)))
    return DONE


def _stored(archive: Archive, sensors: Sequence[str]) -> dict[str, Examination]:
    found = ((sensor, stored_examination(archive.fact(FACT + sensor))) for sensor in sensors)
    return {sensor: known for sensor, known in found if known}


def _from_estimates(archive: Archive, sensors: Sequence[str], settings: Settings) -> dict[str, Examination]:
    """The same judgement as the agent's, from the estimates of whole days that the journal still has."""
    vans: dict[int, VanDay] = {}
    last = [each for sensor in sensors for each in _decoded(_history(archive, sensor, 1))]
    today = max((each.end_ms for each in last), default=0) // DAY_MS
    for sensor in sensors:
        estimates = _decoded(archive.estimates(sensor, 0, NEVER_MS))
        for day, made in groupby(estimates, lambda each: each.start_ms // DAY_MS):
            vans.setdefault(day, VanDay(day, settings.windows.length_s * 1000)).add(sensor, made)
    limit = threshold((settings.consensus or Consensus()).false_alarms_a_year)
    known: dict[str, Examination] = {}
    for van in (vans[day] for day in sorted(vans) if day < today):
        known |= updated(van, dict(van.compare(known)), known, limit)
    return known


def _lately(archive: Archive, sensor: str) -> tuple[str | None, set[bool]]:
    """The model of the last value, and whether the last values have an interval: some may, some may not."""
    made = [each for each in _decoded(_history(archive, sensor, LATELY)) if each.value is not None]
    return made[-1].model if made else None, {each.low is not None for each in made}


def _history(archive: Archive, sensor: str, last: int) -> Iterable[bytes]:
    return archive.history(sensor, 0, NEVER_MS, after_seq=-1, last=last, most=last)


def _decoded(payloads: Iterable[bytes]) -> Iterator[Estimate]:
    for payload in payloads:
        with suppress(BadEstimate):
            yield decode_estimate(payload)


def opinion(sensor: str, known: Examination | None, bounded: bool = True) -> dict[str, Any]:
    """What is thought of one sensor, and why; `bounded`: not all values are without an interval."""
    if known is None or not known.days:
        why = "too few days beside another sensor with a model" if bounded else UNBOUNDED
        return {"sensor": sensor, "opinion": "unknown", "why": why, "suspicions": {}, "evidence": None}
    since = {code: _day(known.since[code]) for code in CODES if code in known.since}
    learning = known.examined < LEARN_DAYS and not since
    return {
        "sensor": sensor,
        "opinion": next(iter(since), "learning" if learning else "sound"),
        "why": _why(known, next(iter(since), None)),
        "suspicions": since,
        "advice": {code: ADVICE[code] for code in since},
        "evidence": _evidence(known),
    }


def _why(known: Examination, worst: str | None) -> str:
    shown = _evidence(known)
    words = {
        "swapped_suspected": "R² with the other sensors is {r2:.2f}; it does not follow them",
        "sensitivity_lost": "where the others change by 1 it changes by {gain:.2f}, usually {usual_gain:.2f}",
        "drifting": "its difference from the others has changed by {change:+.3f}",
        "disagrees": "it differs from the others by {difference:+.3f}, more than its interval allows",
        None: "it differs from the others by {difference:+.3f}; R² {r2:.2f}, gain {gain:.2f}",
    }
    return words[worst].format(**shown)


def _evidence(known: Examination) -> dict[str, Any]:
    """Means of the last week, and how far the sums have grown."""
    recent = known.days[-CLEAR_DAYS:]
    columns = [sum(column) / len(recent) for column in zip(*recent, strict=True)]
    _, change, gain, r2, difference, level = columns
    return {
        "days": known.examined,
        "last_day": _day(known.last_day),
        "difference": round(difference, 4),
        "change": round(change, 4),
        "gain": round(gain, 3),
        "usual_gain": round(known.usual_gain, 3),
        "r2": round(r2, 3),
        "level": round(level, 3),
        "cusum": round(max(known.offset_chart.height, known.gain_chart.height), 1),
        "by_day": [[_day(int(each[0])), *each[1:]] for each in recent],
    }


def _words(opinion: dict[str, Any]) -> Iterator[str]:
    yield f"{opinion['sensor']}: {opinion['opinion'].replace('_', ' ')}. {opinion['why'].capitalize()}."
    for code, since in opinion["suspicions"].items():
        yield f"  {code} since {since}: {opinion['advice'][code].partition(';')[0]}"
    if evidence := opinion["evidence"]:
        days, last, cusum = (evidence[name] for name in ("days", "last_day", "cusum"))
        yield f"  {days} days examined, the last is {last}; CUSUM {cusum}"


def _day(day: int) -> str:
    return format_time(day * DAY_MS)[:10]
