"""The judgement of one sensor over days: does it drift, lose sensitivity, follow another gas, or disagree?

Each day gives one difference from the others and one gain. Both are compared with this sensor's own usual
values, the difference by temperature, and divided by their usual spread. CUSUM adds up what is beyond SLACK,
upwards and downwards:

    S = max(0, S + z - SLACK),   alarm at S > threshold

The threshold follows from the accepted rate of false alarms by Siegmund's formula for the mean time between
them. Successive days are alike, which is taken into account by their long-run spread, LONG_RUN.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from math import exp, sqrt
from typing import Any

from edge_agent.core.comparison import LESS, Day
from edge_agent.core.suspicions import DISAGREES, DRIFTING, LOST, SWAPPED, Suspicion

SLACK = 1.0  # spreads of a day; smaller changes are not looked for
LONG_RUN = 1.6  # of a mean of days, against independent days: a correlation of 0.45 from day to day
CHARTS = 4  # difference and gain, up and down
MOST = 4.0  # spreads that one day can count
LEARN_DAYS = 14  # for the usual values
PRIOR_DAYS = 5.0  # how much the expected value counts
SPREAD_DAYS = 28  # for the usual spread
QUANTILE = 1.645  # of an interval at 90 %
EXPECTED = 0.6  # the least spread of a day's difference, of the standard deviation that the interval promises
EXPECTED_GAIN = 0.03
INDEPENDENT = 6.0  # windows of a day, as far as its gain goes
FOLLOWED = 0.8  # R² of the best sensor: below it the air hardly changed on that day
STREAK = 3  # days that show a swap or a disagreement, or its end
CLEAR_DAYS = 7
KEPT, REMEMBERED = 14, 8  # days, as evidence; suspicions
FEWEST_OTHERS = 2  # with one other sensor nobody can say which one changed
DAMAGE = (ValueError, TypeError, KeyError, AttributeError)


def threshold(false_alarms_a_year: float) -> float:
    """The height of CUSUM at which the four charts together give so many false alarms in a year.

    Siegmund: the mean time is (exp(2Δb) - 2Δb - 1) / (2Δ²) with b = h + 1.166 and Δ = SLACK, here in units of
    the long-run spread.

    >>> round(threshold(1.0), 1)
    7.2
    """
    days, delta = 365.25 * CHARTS / false_alarms_a_year, SLACK / LONG_RUN
    low, high = 0.0, 100.0
    for _ in range(60):
        b = (low + high) / 2.0
        mean = (exp(2.0 * delta * b) - 2.0 * delta * b - 1.0) / (2.0 * delta**2)
        low, high = (b, high) if mean < days else (low, b)
    return max(0.0, low - 1.166) * LONG_RUN


@dataclass(slots=True)
class Chart:
    """CUSUM of one statistic: its usual spread, two sums, and since when each of them grows."""

    days: int = 0
    squares: float = 0.0
    up: float = 0.0
    down: float = 0.0
    up_since: int = 0
    down_since: int = 0

    def update(self, day: int, departure: float, least: float) -> None:
        """Add the departure of a day from the usual value; `least` is the least spread to believe in."""
        spread = self.spread(least)
        z = max(-MOST, min(MOST, departure / spread))
        if self.days < SPREAD_DAYS:
            self.days += 1
            self.squares += min(departure**2, (3.0 * spread) ** 2)
        self.up, self.up_since = _grown(self.up, z, self.up_since, day)
        self.down, self.down_since = _grown(self.down, -z, self.down_since, day)

    def spread(self, least: float) -> float:
        """The usual spread."""
        return max(least, sqrt(self.squares / max(self.days, 1)), 1e-9)

    def reset(self) -> None:
        """Begin both sums again; the usual spread stays."""
        self.up = self.down = 0.0

    @property
    def height(self) -> float:
        """The larger sum."""
        return max(self.up, self.down)

    @property
    def since(self) -> int:
        """The day from which the larger sum grows."""
        return self.up_since if self.up >= self.down else self.down_since


def _grown(total: float, z: float, since: int, day: int) -> tuple[float, int]:
    return max(0.0, total + z - SLACK), day if total == 0.0 else since


@dataclass(slots=True)
class Examination:
    """All that is known of one sensor with one model and unit; small, and the same after a restart."""

    model: str | None = None
    unit: str | None = None
    examined: int = 0  # days
    last_day: int = 0
    bins: dict[int, list[float]] = field(default_factory=dict)  # temperature -> sum of differences, days
    gain: list[float] = field(default_factory=lambda: [0.0, 0.0])  # sum of gain - 1, days
    offset_chart: Chart = field(default_factory=Chart)
    gain_chart: Chart = field(default_factory=Chart)
    strange: int = 0  # successive days that follow something else; negative: that do not
    apart: int = 0  # successive days beyond the interval; negative: well within
    days: list[list[float]] = field(default_factory=list)  # day, departure, gain, R², offset, level
    since: dict[str, int] = field(default_factory=dict)  # suspicion -> the day that raised it
    past: list[Suspicion] = field(default_factory=list)  # those that are cleared

    def update(self, day: Day, limit: float) -> None:
        """Judge one more day; `limit` is the height of CUSUM that raises an alarm."""
        self.examined += 1
        self.last_day = day.day
        departure = self._departure(day)
        if day.others >= FEWEST_OTHERS and self.strange <= 0 and day.half_width:
            self._chart(day, departure)
        row = (day.day, departure, day.gain, day.follows, day.offset, day.level)
        self.days = [*self.days[1 - KEPT :], [float(f"{each:.6g}") for each in row]]
        self._count(day)
        before = dict(self.since)
        self._judge(day, limit)
        gone = [Suspicion(code, at, day.day) for code, at in before.items() if code not in self.since]
        self.past = [*self.past, *gone][-REMEMBERED:]

    @property
    def suspicions(self) -> list[Suspicion]:
        """The present ones, and the last that are cleared."""
        return [*self.past, *(Suspicion(code, at) for code, at in self.since.items())]

    def _departure(self, day: Day) -> float:
        """The difference from the others against the usual one at the same temperatures, which it teaches.

        The usual one begins at 0, which is what a calibration aims at, and moves as days are seen.
        """
        windows = sum(count for _, count in day.bins.values())
        departure = sum((apart - self._usual(b)) * n for b, (apart, n) in day.bins.items()) / (windows or 1)
        # A disturbed day is not usual; but the first days may look disturbed because nothing is learnt yet.
        teaches = self.examined <= LEARN_DAYS or not self.since.keys() - {DISAGREES}
        for b, (apart, _) in day.bins.items() if teaches else ():
            total, days = self.bins.get(b, [0.0, 0.0])
            if days < LEARN_DAYS:
                self.bins[b] = [total + apart, days + 1.0]
        return departure

    def _usual(self, b: int) -> float:
        total, days = self.bins.get(b, [0.0, 0.0])
        return total / (days + PRIOR_DAYS)

    def _chart(self, day: Day, departure: float) -> None:
        promised = day.half_width / QUANTILE
        self.offset_chart.update(day.day, departure, EXPECTED * promised)
        # Where the air hardly changes, the gain is noise.
        noise = promised / (max(day.swing, 1e-9) * sqrt(INDEPENDENT))
        self.gain_chart.update(day.day, day.gain - self.usual_gain, max(EXPECTED_GAIN, noise))
        if self.gain[1] < LEARN_DAYS:
            self.gain = [self.gain[0] + day.gain - 1.0, self.gain[1] + 1.0]

    @property
    def usual_gain(self) -> float:
        """The gain of this sensor before it changed, near 1."""
        return 1.0 + self.gain[0] / (self.gain[1] + PRIOR_DAYS)

    def _count(self, day: Day) -> None:
        """Count successive days that follow something else, and days that are too far apart."""
        if day.others >= FEWEST_OTHERS and day.best >= FOLLOWED:
            self.strange = _streak(self.strange, day.follows < LESS * day.best)
        if not day.half_width:
            return
        if abs(day.offset) > day.half_width:
            self.apart = _streak(self.apart, hit=True)
        elif abs(day.offset) < day.half_width / 2.0:
            self.apart = _streak(self.apart, hit=False)
        else:
            self.apart = 0

    def _judge(self, day: Day, limit: float) -> None:
        """Raise and clear suspicions."""
        self._set(SWAPPED, day.day, self.strange >= STREAK, self.strange <= -STREAK)
        self._set(DISAGREES, day.day, self.apart >= STREAK, self.apart <= -STREAK)
        # Asked only under suspicion: a change that begins would be reset while its week is still as usual.
        if self.since.keys() - {DISAGREES} and self._is_back(day):
            self.offset_chart.reset()
            self.gain_chart.reset()
            self._replace(None, day.day)
        elif max(self.offset_chart.height, self.gain_chart.height) > limit:
            self._replace(self._kind(), day.day)
        if SWAPPED in self.since:
            self.since = {SWAPPED: self.since[SWAPPED]}

    def _replace(self, kind: str | None, day: int) -> None:
        """Let this be the only change of the sensor that is suspected, or none."""
        kept = {each: at for each, at in self.since.items() if each not in (DRIFTING, LOST)}
        self.since = kept | ({kind: self.since.get(kind, day)} if kind else {})

    def _kind(self) -> str:
        """Whether the change of the gain explains the change of the difference."""
        change, gain, level = self.changes()
        lost = gain < -2.0 * EXPECTED_GAIN
        return LOST if lost and 2.0 * abs(gain * level) >= abs(change) else DRIFTING

    def changes(self) -> tuple[float, float, float]:
        """In the last week, while a sum grows: the departure, the change of the gain, and the level."""
        chart = max(self.offset_chart, self.gain_chart, key=lambda each: each.height)
        first = max(chart.since, self.last_day - CLEAR_DAYS + 1)
        recent = [each for each in self.days if each[0] >= first] or self.days[-1:]
        departure, gain, level = (sum(each[n] for each in recent) / len(recent) for n in (1, 2, 5))
        return departure, gain - self.usual_gain, level

    def _is_back(self, day: Day) -> bool:
        """Whether a week is as usual again."""
        recent = self.days[-CLEAR_DAYS:]
        departure, gain = (sum(each[n] for each in recent) / len(recent) for n in (1, 2))
        usual = self.offset_chart.spread(EXPECTED * day.half_width / QUANTILE)
        return abs(departure) < usual and abs(gain - self.usual_gain) < self.gain_chart.spread(EXPECTED_GAIN)

    def _set(self, kind: str, day: int, raised: bool, cleared: bool) -> None:
        if raised:
            self.since.setdefault(kind, day)
        elif cleared:
            self.since.pop(kind, None)

    def record(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


def stored_examination(text: str | None) -> Examination | None:
    """What the journal has of a sensor; None if there is nothing, or if it is damaged."""
    with suppress(*DAMAGE):
        return examination_of(json.loads(text or ""))
    return None


def _streak(count: int, hit: bool) -> int:
    return (max(count, 0) + 1) if hit else (min(count, 0) - 1)


def examination_of(record: Mapping[str, Any]) -> Examination:
    """The opposite of `record`; one of DAMAGE if it is something else."""
    made = Examination(**{**record, "offset_chart": Chart(**record["offset_chart"])})
    made.gain_chart = Chart(**record["gain_chart"])
    made.past = [Suspicion(*each) for each in record["past"]]
    made.bins = {int(each): [float(number) for number in usual] for each, usual in record["bins"].items()}
    return made
