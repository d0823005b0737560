"""The tables of docs/consensus.md on simulated vans: python -m tests.bench.examination CACHE [VANS [SEED]]

Every fault is planted in one sensor of each van, on a day from 100 to 200. Drift and loss grow for 30 days
and stay. Delays are days from the start of the fault until estimates have the reason, with the day until
windows are final. CACHE keeps the bundles and the figures of each van: an interrupted run goes on, and other
code needs an empty CACHE. Two processes share the vans.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edge_agent.core.comparison import Day, day_of, with_best, without
from edge_agent.core.consensus import combine
from edge_agent.core.examination import Examination, threshold
from edge_agent.core.kernel import Array
from model_export.files import write_atomically
from model_export.simulator.analyser import NOISE
from model_export.simulator.faults import Fault, Kind
from model_export.simulator.weather import DAY_MS
from tests.bench.vans import SENSORS, YEAR_DAYS, Van, Year

WINDOWS_A_DAY = 96
GROWS_DAYS = 30
FINAL_DAYS = 1  # until the windows of a day are final
FAULTS: tuple[tuple[str, Kind, float], ...] = (
    ("zero drifts by 50 ppb", "zero", 0.05),
    ("zero drifts by 100 ppb", "zero", 0.1),
    ("zero drifts by 200 ppb", "zero", 0.2),
    ("sensitivity falls by 10 %", "sensitivity", 0.1),
    ("sensitivity falls by 20 %", "sensitivity", 0.2),
    ("sensitivity falls by 40 %", "sensitivity", 0.4),
    ("CO and NOx cells swapped", "swap", 0.0),
    ("op1 stuck at its zero", "stuck", 0.0),
)


class Found(NamedTuple):
    """After how many days a fault was found, and as what it stands two months after its start."""

    delay: int | None
    final_code: str


def days_of(year: Year, own: int) -> list[Day | None]:
    """Each day of one sensor beside the others."""
    others, count = without(own, year.value, year.half_width, np.ones(len(SENSORS), dtype=bool))
    x, half, heat = (each[:, own] for each in (year.value, year.half_width, year.temperature))
    rows = [slice(day * WINDOWS_A_DAY, (day + 1) * WINDOWS_A_DAY) for day in range(YEAR_DAYS)]
    return [
        day_of(day, x[row], half[row], heat[row], others[row], count[row]) for day, row in enumerate(rows)
    ]


def history(days: list[Day | None], limit: float) -> Iterator[tuple[int, dict[str, int]]]:
    """The suspicions after each day."""
    known = Examination()
    for number, day in enumerate(days):
        if day is not None:
            known.update(with_best([day, day._replace(follows=0.97)])[0] or day, limit)
        yield number, dict(known.since)


def alarms(days: list[Day | None], limit: float) -> int:
    """How often suspicions are raised where there were none."""
    held = [bool(since) for _, since in history(days, limit)]
    return sum(now and not before for before, now in zip([False, *held], held, strict=False))


def detect(van: Van, number: int, kind: Kind, size: float, limit: float) -> Found:
    """Plant a fault in one sensor of a van, and wait for it."""
    own, begin = number % len(SENSORS), 100 + number * 13 % 100
    end_ms = (begin + GROWS_DAYS) * DAY_MS if kind in ("zero", "sensitivity") else None
    year = van.year([Fault(SENSORS[own], kind, begin * DAY_MS, end_ms, size)])
    after = [(day, since) for day, since in history(days_of(year, own), limit) if day >= begin]
    found = next(((day, since) for day, since in after if since), None)
    settled = next((since for day, since in after if day == begin + 60), {})
    if found is None:
        return Found(None, "")
    return Found(found[0] - begin + FINAL_DAYS, "+".join(sorted(settled)))


def rms(values: Array) -> float:
    return float(np.sqrt(np.nanmean(values**2)))


def covered(error: Array, half_width: Array) -> float:
    known = ~np.isnan(error + half_width)
    return float(np.mean(np.abs(error[known]) <= half_width[known]))


def scaled(year: Year) -> Array:
    """For each sensor the factor with which its interval covers exactly 90 % of this year."""
    error = np.abs(year.value - year.truth[:, None]) / year.half_width
    return np.asarray(np.nanquantile(error, 0.9, axis=0))


def best_weights(errors: Array) -> Array:
    """The constant weights with the least error, which nobody can know: C⁻¹1 for the covariance C."""
    weights = np.linalg.solve(errors.T @ errors, np.ones(errors.shape[1]))
    return np.asarray(weights / weights.sum())


def agreement(van: Van) -> dict[str, float]:
    """The consensus of six sound sensors against the truth, beside what could be reached at best."""
    year = van.year()
    truth, found, factor = year.truth, combine(year.value, year.half_width), scaled(year)
    known = ~np.isnan(found.value)
    errors = (year.value - truth[:, None])[known]
    single = float(np.median([rms(each) for each in errors.T]))
    precise = van.year(noise=NOISE)
    alike, told = combine(year.value, year.half_width * factor), combine(precise.value, precise.half_width)
    pairs = np.asarray(np.corrcoef(errors.T))[np.triu_indices(len(SENSORS), 1)]
    return {
        "RMSE of the median sensor, ppm": single,
        "RMSE of the consensus, of that": rms(found.value - truth) / single,
        "RMSE of the mean, of that": rms(errors.mean(axis=1)) / single,
        "RMSE of the median, of that": rms(np.median(errors, axis=1)) / single,
        "RMSE with the best weights, of that": rms(errors @ best_weights(errors)) / single,
        "correlation of the errors of two sensors": float(np.median(pairs)),
        "coverage of one sensor": covered(year.value - truth[:, None], year.half_width),
        "coverage of one sensor, of a reference": covered(
            year.value - year.reference[:, None], year.half_width
        ),
        "coverage of one sensor, noise known": covered(precise.value - truth[:, None], precise.half_width),
        "coverage of the consensus": covered(found.value - truth, found.half_width),
        "coverage of the consensus, of a reference": covered(found.value - year.reference, found.half_width),
        "coverage of the consensus, noise known": covered(told.value - truth, told.half_width),
        "coverage of the consensus, if one covers 90 %": covered(alike.value - truth, alike.half_width),
        **_two_swapped(van, year, factor),
    }


def _two_swapped(van: Van, year: Year, factor: Array) -> dict[str, float]:
    """The same with two of them swapped, as if their models knew no range: their intervals do not show it."""
    widths, truth = year.half_width * factor, year.truth
    four = combine(year.value[:, 2:], widths[:, 2:])
    swapped = van.year([Fault(name, "swap", 0) for name in SENSORS[:2]])
    lying = np.where(np.isnan(swapped.half_width), np.nanmedian(widths), swapped.half_width * factor)
    two_lie = combine(swapped.value, lying)
    there = ~np.isnan(four.value) & ~np.isnan(two_lie.value)
    return {
        "two of six swapped: RMSE, of the other four's": rms((two_lie.value - truth)[there])
        / rms((four.value - truth)[there]),
        "two of six swapped: coverage": covered(two_lie.value - truth, two_lie.half_width),
    }


def examined(cache: Path, seed: int, number: int) -> dict[str, Any]:
    """All figures of one van, as its file in the cache has them."""
    path, limit = cache / f"van-{seed + number}.json", threshold(1.0)
    if not path.exists():
        van = Van(seed + number, cache)
        year = van.year()
        figures = {
            "agreement": agreement(van),
            "false": sum(alarms(days_of(year, own), limit) for own in range(len(SENSORS))),
            "found": {title: detect(van, number, kind, size, limit) for title, kind, size in FAULTS},
        }
        write_atomically(path, json.dumps(figures).encode())
    return dict(json.loads(path.read_text()))


def main(cache: Path, count: int = 20, seed: int = 1_000) -> None:
    """Print both tables."""
    vans = []
    with ProcessPoolExecutor(2) as pool:
        for number, van in enumerate(pool.map(partial(examined, cache, seed), range(count)), 1):
            vans.append(van)
            print(f"van {number} of {count}", file=sys.stderr, flush=True)
    print("| figure | median | lowest | highest |\n|---|--:|--:|--:|")
    for name in vans[0]["agreement"]:
        column = [each["agreement"][name] for each in vans]
        print(f"| {name} | {np.median(column):.3f} | {min(column):.3f} | {max(column):.3f} |")
    years, false = count * len(SENSORS), sum(each["false"] for each in vans)
    print(f"\n{false} false alarms in {years} sensor-years: {false / years:.2f} a sensor a year\n")
    print("| fault | found | days, median | days, longest | as |\n|---|--:|--:|--:|---|")
    for title, _, _ in FAULTS:
        found = [Found(*each["found"][title]) for each in vans]
        delays = [one.delay for one in found if one.delay is not None]
        counts = Counter(one.final_code for one in found).most_common()
        codes = ", ".join(f"`{code}` {n}" for code, n in counts)
        print(f"| {title} | {len(delays)} of {count} | {np.median(delays):.0f} | {max(delays)} | {codes} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
