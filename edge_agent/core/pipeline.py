"""The pure steps composed: reading -> window -> model -> quality -> estimate."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from math import isfinite

import numpy as np

from edge_agent.core.messages import Estimate, Reading
from edge_agent.core.model import Model, weighted_sum
from edge_agent.core.quality import Flag, assess, is_covered
from edge_agent.core.warming import Past, Recall, nothing
from edge_agent.core.windows import COVERAGE, Outcome, Window, Windows, expected_minutes


class Pipeline:
    """Windows and the models of their sensors; the agent and replay run this very same one."""

    def __init__(
        self,
        windows: Windows,
        models: dict[str, Model] | None = None,
        agent: str = "",
        coverage: float = COVERAGE,
        recall: Recall = nothing,
    ) -> None:
        self.windows = windows
        self.models = models if models is not None else {}
        self.agent = agent
        self.coverage = coverage
        self._past = Past(windows.length_ms, recall)

    def add(
        self, reading: Reading, now_ms: int, synchronised: bool = True, steady_ms: int | None = None
    ) -> Outcome:
        """Feed one reading to its window."""
        return self.windows.add(reading, now_ms, synchronised, steady_ms)

    def close(
        self, now_ms: int | None = None, synchronised: bool = True, steady_ms: int | None = None
    ) -> list[Estimate]:
        """The estimates of the windows that are due, without sequence numbers."""
        return [self.estimate(window, synchronised) for window in self.windows.close(now_ms, steady_ms)]

    def estimate(self, window: Window, synchronised: bool = True) -> Estimate:
        """One window, calibrated and judged."""
        model = self.models.get(window.sensor)
        warming, past_known = self._look_back(window, model)
        verdict = assess(window, model, synchronised, self.coverage, warming, past_known)
        estimate = Estimate(
            sensor=window.sensor,
            start_ms=window.start_ms,
            end_ms=window.end_ms,
            quality=verdict.flag,
            reasons=verdict.reasons,
            inputs={name: channel.mean for name, channel in window.channels.items()} | warming,
            minutes=_minutes(window, model),
            agent=self.agent,
            clock="synchronised" if synchronised else "unsynchronised",
        )
        if model is None:
            return estimate
        estimate = replace(estimate, gas=model.gas, unit=model.unit, model=model.id)
        return estimate if verdict.flag is Flag.MISSING else _calibrate(estimate, model)

    def _look_back(self, window: Window, model: Model | None) -> tuple[dict[str, float], float]:
        """The model's inputs that are not measured, and how much of the past they rest on is known."""
        heard = window.channels.get(model.auxiliary) if model and model.warming else None
        if model is None or heard is None:
            return {}, 1.0
        sensor, start_ms, past = window.sensor, window.start_ms, self._past
        warming = past.warmings(sensor, start_ms, heard.mean, model.warming)
        known = min(past.known(sensor, start_ms, memory_ms) for memory_ms in model.warming.values())
        if is_covered(window, model.auxiliary, model, self.coverage):
            past.note(sensor, start_ms, heard.mean)
        return warming, known

    def replay(self, readings: Iterable[Reading]) -> Iterator[Estimate]:
        """Every estimate of one sensor's recording, by event time alone, with sequence numbers from 1."""
        sequence = count(1)
        for reading in readings:
            self.add(reading, now_ms=reading.at_ms)
            for estimate in self.close():
                yield replace(estimate, seq=next(sequence))
        for window in self.windows.close_all():
            yield replace(self.estimate(window), seq=next(sequence))


def _minutes(window: Window, model: Model | None) -> dict[str, int]:
    """The minutes of every channel; `expected` are those of the channel that comes most often."""
    needed = (*model.measured, model.auxiliary) if model else ()
    minutes = {
        name: window.channels[name].minutes if name in window.channels else 0
        for name in sorted({*window.channels, *needed})
    }
    cadences = [model.cadence_minutes.get(name, 1) for name in needed] if model else [1]
    return {**minutes, "expected": expected_minutes(window.length_ms, min(cadences))}


def _calibrate(estimate: Estimate, model: Model) -> Estimate:
    inputs = [[estimate.inputs[name] for name in model.channels]]
    with np.errstate(all="ignore"):  # a value that is not finite is flagged below
        weights = model.weights([estimate.inputs[model.auxiliary]])
        value = float(weighted_sum(weights, inputs)[0])
    if not isfinite(value):
        return replace(estimate, quality=Flag.FAIL, reasons=(*estimate.reasons, "value_not_finite"))
    named = dict(zip((*model.channels, "bias"), weights[0].tolist(), strict=True))
    if model.interval is None:
        return replace(estimate, value=value, weights=named)
    half_width, level = model.interval.half_width, model.interval.level
    low, high = value - half_width, value + half_width
    return replace(estimate, value=value, weights=named, low=low, high=high, level=level)
