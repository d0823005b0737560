"""Means over hours as messages: `1h` for every hour, `8h` for the eight hours from every hour on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from edge_agent.core.derived import SEPARATOR, Derived
from edge_agent.core.means import HOUR_MS, Part, SpanMean, running_means
from edge_agent.core.messages import FINAL, PRELIMINARY, Estimate

SPANS_MS = {"1h": HOUR_MS, "8h": 8 * HOUR_MS}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanEstimate(Derived):
    """The mean of one span of one sensor, with what is needed to judge it."""

    sensor: str
    every: str
    mean: SpanMean

    @property
    def series(self) -> str:
        """The name under which the journal has it."""
        return f"{self.sensor}{SEPARATOR}{self.every}"

    def record(self) -> dict[str, Any]:
        """The map of the wire contract."""
        mean = self.mean
        return {
            "v": 1,
            "sensor": self.sensor,
            "gas": self.gas,
            "mean": self.every,
            "value": None if mean.value is None else round(mean.value, 9),
            "unit": mean.unit,
            **self.version(),
            "quality": int(mean.quality),
            "reasons": list(mean.reasons),
            "minutes": mean.minutes,
            "expected": mean.expected,
            "models": list(mean.models),
            "agent": self.agent,
        }


def mean_estimates(
    estimates: Iterable[Estimate], every: str, from_ms: int, until_ms: int
) -> Iterator[MeanEstimate]:
    """The means of the spans that start at `from_ms` or later and end by `until_ms`.

    `estimates` are the newest ones of a sensor, in the order of their windows, from `from_ms` on.
    """
    known = [each for each in estimates if each.start_ms >= from_ms]
    for mean in running_means([part_of(each) for each in known], SPANS_MS[every], until_ms):
        if mean.start_ms < from_ms:
            continue  # some of its windows are not known here
        inside = [e for e in known if mean.start_ms <= e.start_ms and e.end_ms <= mean.end_ms]
        whole = sum(e.end_ms - e.start_ms for e in inside) == SPANS_MS[every]
        final = whole and all(e.status == FINAL for e in inside)
        last = inside[-1]
        yield MeanEstimate(
            sensor=last.sensor,
            every=every,
            mean=mean,
            start_ms=mean.start_ms,
            end_ms=mean.end_ms,
            gas=last.gas,
            agent=last.agent,
            status=FINAL if final else PRELIMINARY,
        )


def part_of(estimate: Estimate) -> Part:
    """A window for a mean, with the minutes of the electrode that has fewest."""
    used = [n for name, n in estimate.minutes.items() if name in (estimate.weights or ())]
    every = [n for name, n in estimate.minutes.items() if name != "expected"]
    return Part(
        estimate.start_ms,
        estimate.end_ms,
        estimate.value,
        min(used if estimate.weights else every, default=0),
        estimate.minutes.get("expected", 0),
        estimate.quality,
        estimate.reasons,
        estimate.unit,
        estimate.model,
    )
