"""Rows for export: the journal's estimates, windows, means, consensus and readings, one after the other."""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from edge_agent.archive import Archive
from edge_agent.core.means import HOUR_MS, Part, SpanMean, running_means
from edge_agent.core.messages import LAST_MS, Reading, format_time, parse_time

# json.loads takes twice as long. These raise StopIteration where they find no value.
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_scan_text = json.JSONDecoder(parse_float=str).scan_once  # type: ignore[attr-defined]
# Every sensor has the same times.
_parsed_time, _formatted_time = lru_cache(4096)(parse_time), lru_cache(4096)(format_time)
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError, StopIteration)
WINDOW = ("sensor", "start", "end")
VALUE = ("value", "low", "high", "level", "unit", "unit_at", "quality", "reasons")
PLACE = ("site", "lat", "lon", "spread_m", "speed_kmh")
ORIGIN = ("model", "clock", "agent", "seq", "revision")
AGREED = ("start", "end", *VALUE, "spread", "sensors", "left_out")
VERSION = ("agent", "seq", "revision")
_window, _value, _origin = itemgetter(*WINDOW), itemgetter(*VALUE), itemgetter(*ORIGIN)
_agreed, _version = itemgetter(*AGREED), itemgetter(*VERSION)

Record = dict[str, Any]
Row = list[Any]
Made = TypeVar("Made")


class Selection(NamedTuple):
    """What starts in [from, to); for readings, no sensors mean all."""

    sensors: list[str]
    from_ms: int
    to_ms: int


class Rows:
    """Rows of one journal, never all at once; `damaged` counts what could not be read."""

    def __init__(
        self, archive: Archive, selection: Selection, channels: tuple[str, ...], as_text: bool = False
    ) -> None:
        """With `as_text` numbers stay the text that was published: a file gets the same, in less time."""
        self.damaged = 0
        self._scan = _scan_text if as_text else _scan
        self._archive, self._channels = archive, channels
        self._sensors, self._from_ms, self._to_ms = selection

    def columns(self, what: str) -> tuple[str, ...]:
        """The names of the cells in a row."""
        return {
            "estimates": (
                *WINDOW,
                *VALUE,
                *self._channels,
                "other_inputs",
                "minutes",
                "expected",
                *PLACE,
                *ORIGIN,
            ),
            "windows": (*WINDOW, *self._channels, *(f"{n}_minutes" for n in self._channels), "expected"),
            "means": (*WINDOW, "value", "unit", "quality", "reasons", "minutes", "expected", "model"),
            "consensus": (*AGREED, *PLACE, *VERSION),
            "fixes": ("at", "lat", "lon", "speed_kmh"),
            "readings": ("sensor", "timestamp", *self._channels),
        }[what]

    def lines(self) -> Iterator[str]:
        """Every estimate or consensus as it was published, as JSON."""
        return self._all(_sound)

    def estimates(self) -> Iterator[Row]:
        """One row a window, with the value and what it was computed from."""
        return self._all(self._estimate)

    def windows(self) -> Iterator[Row]:
        """One row a window, with the mean and the minutes of each channel."""
        return self._all(self._window)

    def consensus(self) -> Iterator[Row]:
        """One row a window, with the value of the van, who took part and who did not."""
        return self._all(_consensus)

    def means(self, span_ms: int, now_ms: int) -> Iterator[Row]:
        """One row for every hour and sensor: the mean of the span that starts there."""
        for sensor in self._sensors:
            parts = list(self._read(sensor, self._until(span_ms), _part))
            for mean in self._means(parts, span_ms, now_ms):
                yield _mean_row(sensor, mean)

    def records(self, span_ms: int | None, now_ms: int) -> Iterator[Record]:
        """Estimates as maps; with a span its means, at the place of their windows if these share a site."""
        if span_ms is None:
            yield from self._all(_record)
            return
        for sensor in self._sensors:
            read = list(self._read(sensor, self._until(span_ms), lambda text: (_part(text), _record(text))))
            starts = [part.start_ms for part, _ in read]
            for mean in self._means([part for part, _ in read], span_ms, now_ms):
                first, last = bisect_left(starts, mean.start_ms), bisect_left(starts, mean.end_ms)
                yield _mean_record(mean, [record for _, record in read[first:last]])

    def _until(self, span_ms: int) -> int:
        """The windows that spans need, some of which end after the selection."""
        return min(self._to_ms + span_ms, LAST_MS)

    def _means(self, parts: list[Part], span_ms: int, now_ms: int) -> Iterator[SpanMean]:
        newest_ms = max((part.end_ms for part in parts), default=0)
        # An hour without its last windows is left out while they may still come.
        until_ms = max(newest_ms, min(now_ms - HOUR_MS, self._until(span_ms)))
        for mean in running_means(parts, span_ms, until_ms):
            if self._from_ms <= mean.start_ms < self._to_ms:
                yield mean

    def readings(self) -> Iterator[Row]:
        """One row for the readings of a sensor with the same time, in order of arrival."""
        for batch in self._archive.batches():
            self.damaged += batch is None
            yield from _joined(filter(self._is_wanted, batch or ()), self._channels)

    def fixes(self) -> Iterator[Row]:
        """One row for each position of the agent, in order of arrival."""
        for fix in self._archive.fixes():
            self.damaged += fix is None
            if fix and self._from_ms <= fix.at_ms < self._to_ms:
                yield [format_time(fix.at_ms), fix.lat, fix.lon, fix.speed_kmh]

    def _all(self, make: Callable[[str], Made]) -> Iterator[Made]:
        for sensor in self._sensors:
            yield from self._read(sensor, self._to_ms, make)

    def _read(self, sensor: str, to_ms: int, make: Callable[[str], Made]) -> Iterator[Made]:
        """What is made of the estimates of a sensor, in order of time; damaged ones are left out."""
        for payload in self._archive.estimates(sensor, self._from_ms, to_ms):
            try:
                made = make(payload.decode())
            except DAMAGE:
                self.damaged += 1
            else:
                yield made

    def _estimate(self, text: str) -> Row:
        record = self._scan(text, 0)[0]
        inputs, channels = record["inputs"], self._channels
        return [
            *_window(record),
            *_value(record),
            *[inputs.get(name) for name in channels],
            {name: value for name, value in inputs.items() if name not in channels},
            _least_minutes(record),
            record["minutes"]["expected"],
            record["site"],
            *_position(record["position"] or {}),
            *_origin(record),
        ]

    def _window(self, text: str) -> Row:
        record = self._scan(text, 0)[0]
        inputs, minutes = record["inputs"], record["minutes"]
        means = [inputs.get(name) for name in self._channels]
        return [
            *_window(record),
            *means,
            *[minutes.get(name, 0) for name in self._channels],
            minutes["expected"],
        ]

    def _is_wanted(self, reading: Reading) -> bool:
        here = not self._sensors or reading.sensor in self._sensors
        return here and self._from_ms <= reading.at_ms < self._to_ms and reading.channel in self._channels


def _record(text: str) -> Record:
    record: Record = _scan(text, 0)[0]
    return record


def _position(position: Record) -> Row:
    return [position.get(name) for name in PLACE[1:]]


def _sound(text: str) -> str:
    """A row with the right checksum is as it was written; one without is empty."""
    if not text:
        raise ValueError("damaged")
    return text


def _consensus(text: str) -> Row:
    record = _record(text)
    position = _position(record["position"] or {})
    return [*_agreed(record), record["site"], *position, *_version(record)]


def _least_minutes(record: Record) -> int | None:
    """The minutes of the electrode that has fewest; without a value those of the poorest channel."""
    minutes, weights = record["minutes"], record["weights"]
    if weights:
        return min([count for name, count in minutes.items() if name in weights], default=None)
    return min([count for name, count in minutes.items() if name != "expected"], default=None)


def _part(text: str) -> Part:
    record = _record(text)
    value = record["value"]
    return Part(
        _parsed_time(record["start"]),
        _parsed_time(record["end"]),
        None if value is None else float(value),
        int(_least_minutes(record) or 0),
        int(record["minutes"]["expected"]),
        int(record["quality"]),
        tuple(record["reasons"]),
        record["unit"],
        record["model"],
    )


def _mean_row(sensor: str, mean: SpanMean) -> Row:
    return [
        sensor,
        _formatted_time(mean.start_ms),
        _formatted_time(mean.end_ms),
        None if mean.value is None else round(mean.value, 9),
        mean.unit,
        int(mean.quality),
        list(mean.reasons),
        mean.minutes,
        mean.expected,
        " ".join(mean.models) or None,
    ]


def _mean_record(mean: SpanMean, windows: list[Record]) -> Record:
    """A mean as the map of an estimate."""
    sites = {window["site"] for window in windows}
    return {
        **windows[0],
        "start": format_time(mean.start_ms),
        "end": format_time(mean.end_ms),
        "value": mean.value,
        "unit": mean.unit,
        "low": None,
        "high": None,
        "quality": mean.quality,
        **({} if len(sites) == 1 else {"site": None, "position": None}),
    }


def _joined(readings: Iterable[Reading], channels: tuple[str, ...]) -> Iterator[Row]:
    """Neighbours of one sensor and time in one row, as in a recording."""
    places = {name: place for place, name in enumerate(channels, 2)}
    row: Row = []
    source: tuple[str, int] | None = None
    for sensor, channel, at_ms, value in readings:
        place = places[channel]
        if (sensor, at_ms) != source or row[place] is not None:
            if row:
                yield row
            source = sensor, at_ms
            row = [sensor, format_time(at_ms), *[None] * len(channels)]
        row[place] = value
    if row:
        yield row
