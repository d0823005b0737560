"""The pure steps in order: window -> warming -> model -> quality -> estimate."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from math import isfinite
from typing import Any

import numpy as np

from edge_agent.core.coverage import Coverage, measure
from edge_agent.core.messages import FINAL, PRELIMINARY, Estimate, Reading
from edge_agent.core.model import Model
from edge_agent.core.places import Place
from edge_agent.core.quality import OUTSIDE, Flag, Verdict, assess
from edge_agent.core.suspicions import Suspicions
from edge_agent.core.units import PublishUnit
from edge_agent.core.warming import TEMPERATURE, Past
from edge_agent.core.windows import COVERAGE, Outcome, Window, Windows


class Pipeline:
    """Windows and the models of their sensors; the agent and `replay` run the same code."""

    def __init__(
        self,
        windows: Windows,
        models: Mapping[str, Model] | None = None,
        agent: str = "",
        coverage: float = COVERAGE,
        place: Callable[[int, int], Place] | None = None,
        publish: PublishUnit | None = None,
        suspicions: Suspicions | None = None,
    ) -> None:
        """`models` by sensor; it may change between two windows.

        `place` says where the agent was in a window. Estimates are in the unit of `publish`, if there is one.
        `suspicions` become reasons.
        """
        self._windows = windows
        self._models = models if models is not None else {}
        self._agent = agent
        self._coverage = coverage
        self._place, self._publish, self._suspicions = place, publish, suspicions
        self._past = Past(windows.length_ms)

    def prime(self, sensor: str, temperatures: Iterable[tuple[int, float]]) -> None:
        """Continue after a restart: (start_ms, temperature) of the windows before it, oldest first."""
        for start_ms, temperature in temperatures:
            self._past.note(sensor, start_ms, temperature)

    def close(
        self, now_ms: int | None = None, synchronised: bool = True, steady_ms: int | None = None
    ) -> list[Estimate]:
        """The estimates of the windows that are due, without sequence numbers.

        `synchronised` describes the clock in the estimates; `now_ms` is given only if it may close windows.
        """
        return [self.estimate(window, synchronised) for window in self._windows.close(now_ms, steady_ms)]

    def revise(self, sensor: str, windows: Iterable[tuple[Window, bool, Place | None]]) -> Iterator[Estimate]:
        """New estimates of a sensor's closed windows, oldest first.

        Each window comes with `synchronised` and the place it had, if it has an estimate. Warming is derived
        from these windows alone, and the windows that close later use their temperatures.
        """
        past = Past(self._windows.length_ms)
        for window, known, place in windows:
            yield self.estimate(window, known, past, place)
        self._past.correct(sensor, past)

    def estimate(
        self,
        window: Window,
        synchronised: bool = True,
        past: Past | None = None,
        place: Place | None = None,
    ) -> Estimate:
        """The estimate of one window, with its quality."""
        model = self._models.get(window.sensor)
        coverage = measure(window, model, self._coverage)
        warming, past_known = self._look_back(window, model, coverage, past or self._past)
        if place is None:
            place = self._place(window.start_ms, window.end_ms) if self._place else Place()
        known, model_id = self._suspicions, model.id if model else None
        suspected = known.at(window.sensor, model_id, window.start_ms) if known else ()
        verdict = assess(window, model, synchronised, coverage, warming, past_known, place.moving, suspected)
        inputs = {name: channel.mean for name, channel in window.channels.items()} | warming
        estimate = Estimate(
            sensor=window.sensor,
            start_ms=window.start_ms,
            end_ms=window.end_ms,
            inputs=inputs,
            minutes={**coverage.minutes, "expected": coverage.expected},
            agent=self._agent,
            clock="synchronised" if synchronised else "unsynchronised",
            position=place.position,
            site=place.site,
            status=FINAL if coverage.complete and not (model and model.warming) else PRELIMINARY,
            channels=window.channels,
            **_calibrated(model, verdict, inputs),
        )
        return _converted(estimate, self._publish) if self._publish else estimate

    def _look_back(
        self, window: Window, model: Model | None, coverage: Coverage, past: Past
    ) -> tuple[dict[str, float], float]:
        """The warmings that the model needs, and how much of the past temperature they use is known.

        The temperature is stored for every sensor: a model may be installed at any time.
        """
        heard = window.channels.get(TEMPERATURE)
        if heard is None:
            return {}, 1.0
        memories_ms = model.warming if model else {}
        enough = TEMPERATURE not in coverage.poor
        return past.compare(window.sensor, window.start_ms, heard.mean, memories_ms, note=enough)

    def replay(
        self, readings: Iterable[Reading], outcomes: Counter[Outcome] | None = None
    ) -> Iterator[Estimate]:
        """Every estimate of one sensor's recording, by event time alone, with sequence numbers from 1.

        `outcomes` counts what happened to the readings.
        """
        sequence, outcomes = count(1), Counter() if outcomes is None else outcomes
        for reading in readings:
            outcomes[self._windows.add(reading, now_ms=reading.at_ms)] += 1
            for estimate in self.close():
                yield replace(estimate, seq=next(sequence))
        for window in self._windows.close_all():
            yield replace(self.estimate(window), seq=next(sequence))


def _calibrated(model: Model | None, verdict: Verdict, inputs: Mapping[str, float]) -> dict[str, Any]:
    """The fields of an estimate that come from the model, and the verdict on them."""
    fields: dict[str, Any] = {"quality": verdict.flag, "reasons": verdict.reasons}
    if model is None:
        return fields
    fields |= {"gas": model.gas, "unit": model.unit, "model": model.id}
    if verdict.flag is Flag.MISSING:
        return fields
    with np.errstate(all="ignore"):  # a value that is not finite is flagged below
        value, weights = model.explain([inputs[name] for name in model.channels], inputs[model.auxiliary])
    if not isfinite(value):
        return fields | {"quality": Flag.FAIL, "reasons": (*verdict.reasons, "value_not_finite")}
    fields |= {"value": value, "weights": dict(zip((*model.channels, "bias"), weights, strict=True))}
    # Nothing is known about errors where there was no training data; `reasons` name the inputs.
    if model.interval is None or any(reason.endswith(OUTSIDE) for reason in verdict.reasons):
        return fields
    half_width = float(model.interval.half_widths(value))
    return fields | {"low": value - half_width, "high": value + half_width, "level": model.interval.level}


def _converted(estimate: Estimate, publish: PublishUnit) -> Estimate:
    """The estimate in another unit, with its weights; as it is if the gas or its unit is unknown."""
    factor = publish.factor(estimate.gas or "", estimate.unit or "")
    if factor is None:
        return estimate
    return replace(
        estimate,
        value=_times(factor, estimate.value),
        low=_times(factor, estimate.low),
        high=_times(factor, estimate.high),
        weights=estimate.weights and {name: weight * factor for name, weight in estimate.weights.items()},
        unit=publish.unit,
        unit_at=publish.named_conditions,
    )


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else value * factor
