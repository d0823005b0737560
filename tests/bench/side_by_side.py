"""The consensus of real units side by side: python -m tests.bench.side_by_side DIRECTORY

AirSensEUR at Ispra: seven units, CO and O3. Calibrated on the first 80 %, judged on the last 20 %. Then
calibrated on the first half, with faults planted into one unit for the second half.
"""

import sys
from pathlib import Path

import numpy as np

from edge_agent.core.comparison import Windows, compare, with_best
from edge_agent.core.consensus import combine
from edge_agent.core.examination import Examination, threshold
from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from model_export.calibration.fit import Recipe, chosen, fit_with_interval
from model_export.recordings.catalogue import load
from model_export.recordings.dataset import Dataset
from model_export.simulator.weather import DAY_MS, Times
from tests.bench.vans import serve

UNITS = ("40458D", "406414", "40641B", "40642E", "4065D0", "4065E0", "4065ED")
PLANTED = (
    "nothing",
    "zero, at once by twice the half-width of its interval",
    "sensitivity, 40 % less at once",
    "the other gas of its box, with its own mean and spread",
)


def together(folder: Path, gas: str) -> list[Dataset]:
    """The windows that all units have."""
    ending, unit = ("", "ppm") if gas == "CO" else (f"-{gas.lower()}", "ppb")
    sets = [load([folder / f"airsenseur-ispra-{name}{ending}.csv.gz"], name, unit) for name in UNITS]
    sets = [each.warmed(Recipe().warming) for each in sets]
    shared = set.intersection(*(set(each.start_ms.tolist()) for each in sets))
    return [each.part(np.isin(each.start_ms, list(shared))) for each in sets]


def models(sets: list[Dataset], share: float) -> list[Model]:
    """Each unit fitted to the first part."""
    recipe = Recipe()
    trains = [each.part(slice(round(share * len(each)))) for each in sets]
    return [fit_with_interval(train, chosen(train, recipe), recipe).model for train in trains]


def served(sets: list[Dataset], share: float) -> tuple[Array, Array, list[Dataset]]:
    """Values and half-widths (m, n) of the last part, and its windows."""
    rest = [each.part(slice(round(share * len(each)), None)) for each in sets]
    found = [serve(model, each) for model, each in zip(models(sets, share), rest, strict=True)]
    return np.column_stack([x for x, _ in found]), np.column_stack([h for _, h in found]), rest


def rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def agreement(sets: list[Dataset]) -> None:
    """The consensus beside the best, the median and the mean."""
    values, widths, rest = served(sets, 0.8)
    found = combine(values, widths)
    there = ~np.isnan(found.value)
    errors = (values - rest[0].target[:, None])[there]
    error, widths = found.value[there] - rest[0].target[there], widths[there]
    singles = [rms(errors[:, n]) for n in range(len(UNITS))]
    usual, mean, median = np.median(singles), rms(errors.mean(axis=1)), rms(np.median(errors, axis=1))
    print(f"{len(error)} windows of {len(there)}")
    print(
        f"RMSE of the best unit {min(singles):.4f}, the median unit {usual:.4f}, the worst {max(singles):.4f}"
    )
    print(f"RMSE of the mean {mean:.4f}, of the median {median:.4f}, of the consensus {rms(error):.4f}")
    promised = ~np.isnan(widths)
    one = np.mean(np.abs(errors[promised]) <= widths[promised])
    covered = np.mean(np.abs(error) <= found.half_width[there])
    alike = np.mean(np.asarray(np.corrcoef(errors.T))[np.triu_indices(len(UNITS), 1)])
    print(f"coverage of one {one:.2f}, of the consensus {covered:.2f}; correlation of errors {alike:.2f}")


def planted(sets: list[Dataset], others: list[Dataset]) -> None:
    """Faults in each unit in turn, from the second day of the second half on: as what they are found."""
    sound, widths, rest = served(sets, 0.5)
    day = rest[0].start_ms // DAY_MS
    heat = np.column_stack([each.auxiliary for each in rest])
    begin = day >= day[0] + 1
    for title in PLANTED:
        codes = []
        for own in range(len(UNITS)):
            values, x = sound.copy(), sound[begin, own]
            other = np.interp(rest[own].start_ms, others[own].start_ms, others[own].inputs[:, 0])[begin]
            values[begin, own] = {
                PLANTED[0]: x,
                PLANTED[1]: x + 2.0 * np.nanmedian(widths[:, own]),
                PLANTED[2]: 0.6 * x,
                PLANTED[3]: x.mean() + x.std() * (other - other.mean()) / other.std(),
            }[title]
            codes.append("+".join(examined(values, widths, heat, day, own)) or "-")
        print(f"{title}: {', '.join(codes)}", flush=True)


def examined(values: Array, widths: Array, heat: Array, day: Times, own: int) -> list[str]:
    """What was raised against one unit."""
    known, limit, found = Examination(), threshold(1.0), set[str]()
    everybody = np.ones(len(UNITS), dtype=bool)
    for each in np.unique(day).tolist():
        rows = day == each
        windows = Windows(values[rows], widths[rows], heat[rows])
        shown = with_best([compare(each, n, windows, everybody) for n in range(len(UNITS))])[own]
        if shown:
            known.update(shown, limit)
            found |= {*known.since}
    return sorted(found)


if __name__ == "__main__":
    boxes = {gas: together(Path(sys.argv[1]), gas) for gas in ("CO", "O3")}
    for gas, other in (("CO", "O3"), ("O3", "CO")):
        print(f"\n## {gas}\n", flush=True)
        agreement(boxes[gas])
        planted(boxes[gas], boxes[other])
