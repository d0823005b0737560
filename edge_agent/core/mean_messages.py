"""Means over hours as messages: `1h` for every hour, `8h` for the eight hours from every hour on."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from edge_agent.core.derived import SEPARATOR
from edge_agent.core.means import HOUR_MS, Part, SpanMean, running_means
from edge_agent.core.messages import FINAL, PRELIMINARY, Estimate, format_time

SPANS_MS = {"1h": HOUR_MS, "8h": 8 * HOUR_MS}


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """The mean of one span of one sensor, with what is needed to judge it."""

    sensor: str
    every: str
    mean: SpanMean
    gas: str | None
    agent: str
    status: str
    seq: int = 0
    revision: int = 0
    supersedes: int | None = None
    cause: str | None = None

    @property
    def series(self) -> str:
        """The name under which the journal has it."""
        return f"{self.sensor}{SEPARATOR}{self.every}"

    @property
    def start_ms(self) -> int:
        """The start of the span."""
        return self.mean.start_ms

    @property
    def end_ms(self) -> int:
        """The end of the span."""
        return self.mean.end_ms

    def encode(self, seq: int) -> bytes:
        """As JSON, with a sequence number."""
        record = mean_record(replace(self, seq=seq))
        return json.dumps(record, separators=(",", ":"), allow_nan=False).encode()


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
        status = FINAL if final else PRELIMINARY
        last = inside[-1]
        yield MeanEstimate(last.sensor, every, mean, last.gas, last.agent, status)


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


def mean_record(estimate: MeanEstimate) -> dict[str, Any]:
    """A mean as the map of the wire contract."""
    mean = estimate.mean
    return {
        "v": 1,
        "sensor": estimate.sensor,
        "gas": estimate.gas,
        "mean": estimate.every,
        "value": None if mean.value is None else round(mean.value, 9),
        "unit": mean.unit,
        "start": format_time(mean.start_ms),
        "end": format_time(mean.end_ms),
        "seq": estimate.seq,
        "revision": estimate.revision,
        "supersedes": estimate.supersedes,
        "cause": estimate.cause,
        "status": estimate.status,
        "quality": int(mean.quality),
        "reasons": list(mean.reasons),
        "minutes": mean.minutes,
        "expected": mean.expected,
        "models": list(mean.models),
        "agent": estimate.agent,
    }
