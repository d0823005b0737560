"""What has changed, as a page: the announcement that the users of published values need."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from model_export.archive.recalibrate import Fact
from model_export.figures.webpage import Section
from model_export.figures.webpage import page as as_page

TEXT = (
    "The values below were computed again from the stored readings, with newer calibrations. Each new value "
    'has a higher revision than the one it replaces, the cause "recalibrated", and the ids of both models. '
    "The old files are unchanged. If you have used these values, take the highest revision of each window."
)
MOST = 1_000  # rows; a browser is slow with more, and the table beside the page has all sensors
HEAD = (
    "sensor",
    "from",
    "to",
    "windows",
    "changed",
    "mean before",
    "mean after",
    "change (5 to 95 %)",
    "models",
)


def page(facts: Sequence[Fact], skipped: Sequence[Mapping[str, str]]) -> str:
    """The sensors whose mean has changed most come first."""
    by_sensor: dict[str, list[Fact]] = {}
    for fact in facts:
        by_sensor.setdefault(fact["sensor"], []).append(fact)
    rows = sorted(by_sensor.values(), key=lambda own: (-_shift(own), own[0]["sensor"]))
    windows, changed, known = (sum(fact[name] for fact in facts) for name in ("windows", "changed", "known"))
    tiles = [
        ("sensors", f"{len(by_sensor):,}"),
        ("windows", f"{windows:,}"),
        ("values that changed", f"{changed:,}"),
        ("windows whose old value is not known", f"{windows - known:,}"),
        ("skipped", f"{len(skipped):,}"),
    ]
    return as_page("Recalibrated values", tiles, _sections(rows, skipped))


def _sections(rows: Sequence[Sequence[Fact]], skipped: Sequence[Mapping[str, str]]) -> Iterator[Section]:
    more = f" Of {len(rows):,} sensors the {MOST:,} with the largest change are shown."
    text = TEXT + more * (len(rows) > MOST)
    yield Section("What has changed", text, tables=[[HEAD, *map(_row, rows[:MOST])]])
    if skipped:
        more = f" The first {MOST:,} of {len(skipped):,}." * (len(skipped) > MOST)
        table = [("what", "why"), *((one["name"], one["reason"]) for one in skipped[:MOST])]
        yield Section("Not recalibrated", f"These values stay as they are.{more}", tables=[table])


def _row(own: Sequence[Fact]) -> tuple[str, ...]:
    unit = own[0]["unit"]
    old = sorted({name for fact in own for name in fact["superseded_models"]})
    models = f"{', '.join(map(_short, old)) or 'unknown'} → {_short(own[-1]['model'])}"
    low = min((f["change_p5"] for f in own if f["change_p5"] is not None), default=None)
    high = max((f["change_p95"] for f in own if f["change_p95"] is not None), default=None)
    return (
        own[0]["sensor"],
        own[0]["from"][:10],
        own[-1]["to"][:10],
        f"{sum(fact['windows'] for fact in own):,}",
        f"{sum(fact['changed'] for fact in own):,}",
        _number(_mean(own, "mean_before"), unit),
        _number(_mean(own, "mean_after"), unit),
        "–" if low is None or high is None else f"{low:+.3f} to {high:+.3f} {unit}",
        models,
    )


def _mean(own: Sequence[Fact], name: str) -> float | None:
    """The mean over months, weighted by windows that had a value before and have one now."""
    known = [
        (fact[name], min(fact["with_value"], fact["had_value"])) for fact in own if fact[name] is not None
    ]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def _shift(own: Sequence[Fact]) -> float:
    before, after = _mean(own, "mean_before"), _mean(own, "mean_after")
    return abs(after - before) if before is not None and after is not None else 0.0


def _number(value: Any, unit: str) -> str:
    return "–" if value is None else f"{value:.3f} {unit}"


def _short(model: str) -> str:
    """The first digits of an id, as dashboards show it.

    >>> _short("sha256:9f3c01ab23cd4567")
    '9f3c01ab'
    """
    return model.removeprefix("sha256:")[:8]
