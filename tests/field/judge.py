"""What power cuts lost or doubled: the acknowledged readings and the estimates against the journal."""

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from edge_agent.core.messages import parse_time

CHANNELS = ("op1", "op2", "temperature")
WINDOW_MS = 60_000
Key = tuple[str, str, float]  # sensor, channel, stamp (or the value, where the sensor sends no stamp)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Numbers of readings and estimates; `sound` says whether the promise was kept."""

    acknowledged: int
    in_journal: int
    lost: int
    doubled: int
    estimates: int
    windows: int
    windows_with_two_contents: int
    sequence_gaps: int
    wrong_means: int
    events_of_damage: int

    @property
    def sound(self) -> bool:
        """Nothing acknowledged is lost or doubled, every estimate is the mean of its readings, no alarm."""
        bad = self.lost, self.doubled, self.windows_with_two_contents, self.sequence_gaps, self.wrong_means
        return not (any(bad) or self.events_of_damage) and self.acknowledged > 0 and self.estimates > 0

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in asdict(self).items())


def judge(
    said: Iterable[str], readings: Iterable[str], estimates: Iterable[str], events: Iterable[str]
) -> Verdict:
    """`said` is the stream's log, `readings` the journal as export prints it, `estimates` what arrived.

    `events` are lines of the agent's log.
    """
    expected = Counter(key for line in said for key in _said(json.loads(line)))
    found: Counter[Key] = Counter()
    values: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    for row in map(json.loads, readings):
        sensor, at_ms = row["sensor"], parse_time(row["timestamp"])
        for channel in CHANNELS:
            if (value := row[channel]) is not None:
                found[sensor, channel, value if sensor == "U" else at_ms] += 1
                values[sensor, at_ms // WINDOW_MS * WINDOW_MS, channel].append(value)
    arrived = [json.loads(line) for line in estimates]
    contents: dict[tuple[str, int], set[str]] = defaultdict(set)
    for each in arrived:
        contents[each["sensor"], parse_time(each["start"])].add(json.dumps(each, sort_keys=True))
    return Verdict(
        acknowledged=expected.total(),
        in_journal=found.total(),
        lost=sum(key not in found for key in expected),
        doubled=sum(count > 1 for count in found.values()),
        estimates=len(arrived),
        windows=len(contents),
        windows_with_two_contents=sum(len(each) > 1 for each in contents.values()),
        sequence_gaps=_gaps(arrived),
        wrong_means=sum(_is_wrong(json.loads(text), values) for each in contents.values() for text in each),
        events_of_damage=sum("journal.damaged" in line or "journal.set_aside" in line for line in events),
    )


def _said(message: tuple[str, object]) -> Iterable[Key]:
    sensor, payload = message
    if isinstance(payload, dict):
        return [(sensor, channel, payload["at"] * 1000) for channel in CHANNELS if channel in payload]
    return [(sensor, "op1", float(payload))]  # type: ignore[arg-type]


def _gaps(arrived: list[dict[str, object]]) -> int:
    """Sequence numbers that no estimate of a sensor has."""
    numbers: dict[str, set[int]] = defaultdict(set)
    for each in arrived:
        numbers[str(each["sensor"])].add(int(each["seq"]))  # type: ignore[call-overload]
    return sum(max(each) - min(each) + 1 - len(each) for each in numbers.values())


def _is_wrong(estimate: dict[str, object], values: dict[tuple[str, int, str], list[float]]) -> bool:
    """Whether an input of an estimate is not the mean of the window's readings in the journal."""
    sensor, start_ms = str(estimate["sensor"]), parse_time(estimate["start"])
    inputs: dict[str, float] = estimate["inputs"]  # type: ignore[assignment]
    for channel in inputs.keys() & {*CHANNELS}:
        readings = values[sensor, start_ms, channel]
        if not readings or abs(statistics.fmean(readings) - inputs[channel]) > 1e-6:
            return True
    return False
