"""The experiment's page: leader boards, R² by kind, t-tests, single cases and the models themselves."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pandas as pd

from model_export.experiment import board_plots, case_plots, model_plots, showcase
from model_export.experiment.cases import KINDS, TRANSFERS
from model_export.experiment.evaluation import Experiment
from model_export.experiment.leaderboard import (
    against,
    board,
    by_gas,
    medians,
    rivals,
    sensor_board,
    variants,
)
from model_export.figures.webpage import Picture, Section
from model_export.recordings.catalogue import Member


def sections(found: Experiment, corrected: Experiment | None) -> list[Section]:
    """The sections of the page; those without data are left out."""
    parts = [
        Section("Leader boards", _BOARDS, list(_boards(found))),
        Section("How good, and where", _WHERE, list(_heatmaps(found))),
    ]
    for respire in variants(found.methods)[:1]:
        suspects = _suspects(found, respire, corrected)
        parts += [
            Section("Is it chance?", _CHANCE, list(_tests(found, respire))),
            Section("Shifted references and outliers", _SHIFTS, list(_cases(found, respire, suspects))),
            Section("One sensor in another's place", _SENSORS, list(_sensors(found, respire, suspects))),
            Section("Inside the models", _INSIDE, list(_models(found, respire, suspects))),
        ]
        if corrected:
            parts.append(Section("A corrected fault", _FAULT, list(_fault(found, corrected, respire))))
    return [part for part in parts if part.pictures]


def _boards(found: Experiment) -> Iterator[Picture]:
    without, with_adapter = (_board(found, adapter) for adapter in (False, True))
    title = "Wins on train parts and at home (SS)"
    caption = "Best on the train part, and best on the last windows of the same site and season."
    yield Picture(board_plots.leaders(without, ("train", "SS"), title), caption, "wins-home")
    for counted, word in ((without, "without"), (with_adapter, "with")):
        if counted["transfer"].sum():
            title = f"Wins elsewhere, {word} adapter"
            caption = f"Another season (SX), another site (XS), both (XX); {word} adapter for every method."
            yield Picture(board_plots.leaders(counted, TRANSFERS, title), caption, f"wins-{word}-adapter")
    others = _joined(found, lambda names: sensor_board(found.table, names))
    if others.to_numpy().sum():
        title = "Wins on another sensor"
        caption = "As it is (S3), with adapter (S3a), with transfer (S4), with transfer and adapter (S5)."
        yield Picture(board_plots.leaders(others, tuple(others.columns), title), caption, "wins-sensors")


def _heatmaps(found: Experiment) -> Iterator[Picture]:
    gases = by_gas(found.table)
    for gas, cases in gases.items():
        of_gas, suffix = ("", "") if len(gases) == 1 else (f" of {gas}", f"-{gas.lower()}")
        yield from _heatmaps_of(cases, found.methods, of_gas, suffix)


def _heatmaps_of(table: pd.DataFrame, methods: Sequence[str], of_gas: str, suffix: str) -> Iterator[Picture]:
    """Those of one gas; its name is in titles and file names where there are several."""
    middle = medians(table, methods)
    kinds = [kind for kind in KINDS if kind in middle]
    moved = {f"{kind} with adapter": kind for kind in kinds if kind != "train"}
    shown = middle[kinds], middle.reindex(columns=[*moved]).rename(columns=moved)
    elsewhere = (table["kind"].isin(TRANSFERS) & (table["scenario"] == "S1")).any()
    for values, scenario, word in zip(shown, ("S1", "S2"), ("without", "with"), strict=True):
        caption = "The median over all sensors and datasets. Green explains the reference, purple does not."
        figure = board_plots.heatmap(values, f"Median R²{of_gas}, {word} adapter", "median R²")
        yield Picture(figure, caption, f"r2-{word}-adapter{suffix}")
        if elsewhere:
            title = f"From dataset to dataset{of_gas}, {word} adapter"
            figure = board_plots.transfer_heatmaps(table, methods, scenario, title)
            caption = "The diagonal is SS. Overfitting is a green diagonal in a pale or purple square."
            yield Picture(figure, caption, f"datasets-{word}-adapter{suffix}")


def _tests(found: Experiment, respire: str) -> Iterator[Picture]:
    names = [name for name in found.methods if name != respire]
    tests = {
        "without adapter": against(found.table, [*names, respire], respire, adapter=False),
        "with adapter": against(found.table, [*names, respire], respire, adapter=True),
    }
    if any(test.cases for tested in tests.values() for test in tested.values()):
        title = f"{respire} against each other method"
        caption = (
            "Right of the line RESPIRE is better. Paired two-sided t-tests over all transfers; bars are 95 % "
            "confidence. R² is cut off at -1, so that one very bad case does not decide. Transfers share "
            "models and references, so they are not independent, and the first p is too small. The second p "
            "is from the same test with the differences averaged by sensor first."
        )
        yield Picture(board_plots.differences(tests, respire, title), caption, "t-tests")


def _cases(found: Experiment, respire: str, suspects: set[str]) -> Iterator[Picture]:
    moved = [case for kind in ("XX", "XS") if (case := showcase.shifted(found, respire, kind, suspects))]
    if moved:
        title = "A shifted reference, and what an adapter does"
        caption = (
            "The transfers that gain most from an adapter, XX and XS. The estimates have the shape of the "
            "reference but another zero or gain."
        )
        yield Picture(case_plots.series(moved, title), caption, "series")
    spoilt = showcase.spoilt(found, respire, suspects)
    if spoilt:
        caption = "The transfers where few windows cost most R². The dotted line is at 5\u00a0%."
        title = "Few outliers cost much R²"
        yield Picture(case_plots.robust_curves(spoilt, title), caption, "robust-r2")


def _sensors(found: Experiment, respire: str, suspects: set[str]) -> Iterator[Picture]:
    table = found.table[found.table["method"] == respire]
    pair = showcase.best_pair(table, respire)
    if pair is None:
        return
    bars = {
        f"model of {one}, used for {other}": showcase.scenarios(table, respire, one, other)
        for one, other in (pair, pair[::-1])
    }
    caption = (
        "On the sensor itself without (S1) and with adapter (S2); on the other sensor as it is (S3), with "
        "transfer (S4), and with transfer and adapter (S5). A bar that is cut shows its value."
    )
    title = "Two sensors in each other's place"
    yield Picture(case_plots.scenario_bars(bars, title), caption, "scenarios")
    title = "The model of one sensor on another"
    caption = "With transfer and adapter. A pale row or column is a sensor to look at."
    figure = board_plots.heatmap(
        showcase.between_sensors(table),
        title,
        "median R² (S5)",
        xlabel="used for the sensor",
        ylabel="model of the sensor",
    )
    yield Picture(figure, caption, "sensors")
    sound = set(table["sensor"]) - suspects
    if suspects and len(sound) > 1:
        groups = {
            "suspects": showcase.gaps(table, respire, suspects, sound | suspects),
            "sound sensors": showcase.gaps(table, respire, sound, sound),
        }
        caption = (
            "Sound sensors lose next to nothing. A suspect's models are poor on the sensor itself. "
            f"Suspects: {', '.join(sorted(suspects))}."
        )
        yield Picture(case_plots.gap_density(groups, "What another sensor costs"), caption, "s5-s2")


def _models(found: Experiment, respire: str, suspects: set[str]) -> Iterator[Picture]:
    fits = _alike(found.fits(respire), suspects)
    sensors = sorted({member.place.sensor for member in fits})
    sound = [name for name in sensors if name not in suspects]
    shown = [*sound[:1], *(name for name in sensors if name in suspects)][:2] if suspects else sound[:2]
    picked = [showcase.longest(fits, name) for name in shown]
    curves = {str(one.place): found.fit(respire, one)["details"]["weights"] for one in picked}
    caption = "The longest recording of each sensor. Erratic curves are a sign of overfitting."
    test = showcase.sensors_compared(found.table, respire, *shown) if len(shown) == 2 else None
    if test and test.cases > 1:
        caption += (
            f" Over the same {test.cases} transfers the R² of the left sensor's models minus that of the "
            f"right one's is {test.difference:+.2f} (paired two-sided t-test, p = {test.p:.2g})."
        )
    unit = picked[0].train.unit
    yield Picture(model_plots.weight_curves(curves, unit, "Weights over temperature"), caption, "weights")
    lost = {name: showcase.losses(found, name) for name in variants(found.methods)}
    caption = (
        "On the train parts, over all fits: median and middle half. The dotted line is a loss of 0.01. A "
        "loss under 0.00001 is drawn as 0.00001."
    )
    title = "R² lost by smaller models"
    yield Picture(model_plots.compression_curves(lost, title), caption, "compression")


def _alike(fits: Sequence[Member], suspects: set[str]) -> list[Member]:
    """The fits whose weights can be compared, with those of a suspect if there is one."""
    first = next((one for one in fits if one.place.sensor in suspects), fits[0])
    return [one for one in fits if one.comparable(first)]


def _fault(found: Experiment, corrected: Experiment, respire: str) -> Iterator[Picture]:
    there = {one.place for one in corrected.collection.members}
    places = [one.place for one in found.collection.members if one.place in there]
    before, after = (_elsewhere(one.table, map(str, places)) for one in (found, corrected))
    common = [name for name in found.methods if name in before.index and name in after.index]
    if common:
        title = f"{', '.join(_in_both(found, corrected))} before and after the correction"
        caption = "The same recordings and methods; only the fault is corrected."
        figure = model_plots.before_after(before.loc[common], after.loc[common], title)
        yield Picture(figure, caption, "before-after")
    again = {one.place for one in corrected.fits(respire)}
    both = [one for one in found.fits(respire) if one.place in again]
    if both:
        longest = showcase.longest(both, both[0].place.sensor)
        pair = {
            f"{longest.place}, {when}": one.fit(respire, longest)["details"]["weights"]
            for when, one in (("before", found), ("after", corrected))
        }
        title, caption = "Weights before and after", "The same sensor and recording."
        yield Picture(
            model_plots.weight_curves(pair, longest.train.unit, title), caption, "weights-before-after"
        )


def _in_both(found: Experiment, corrected: Experiment) -> list[str]:
    return [name for name in corrected.collection.sensors if name in found.collection.sensors]


def _elsewhere(table: pd.DataFrame, places: Iterable[str]) -> "pd.Series[float]":
    """The median R² over the transfers from some places to others of them, with adapter."""
    names = list(places)
    moved = table[table["kind"].isin(TRANSFERS) & (table["scenario"] == "S2")]
    source, target = (moved["sensor"] + "_" + moved[column] for column in ("dataset", "target_dataset"))
    return moved[source.isin(names) & target.isin(names)].groupby("method")["r2"].median()


def _suspects(found: Experiment, respire: str, corrected: Experiment | None) -> set[str]:
    """The corrected sensors, if there are any; otherwise those whose models are poor on other sensors."""
    if corrected and (both := _in_both(found, corrected)):
        return set(both)
    return showcase.suspects(found.table, respire)


def _board(found: Experiment, adapter: bool) -> pd.DataFrame:
    return _joined(found, lambda names: board(found.table, names, adapter))


def _joined(found: Experiment, count: Callable[[list[str]], pd.DataFrame]) -> pd.DataFrame:
    """The baselines and our RESPIRE, and the paper's RESPIRE counted against the same baselines."""
    first, *others = variants(found.methods) or [""]
    counted = count(rivals(found.methods, first))
    rows = [count(rivals(found.methods, other)).loc[[other]] for other in others]
    return pd.concat([counted, *rows])


_BOARDS = (
    "How often a method was best. R² less than 0.005 apart are a tie, and all of them win. Our RESPIRE "
    "and the paper's are each counted against the baselines only."
)
_WHERE = "S is the same, X is another: SX is the same site in another season, XS is another site."
_CHANCE = "Both methods have the same transfers, so the differences are tested, not the averages."
_SHIFTS = (
    "A reference is moved and serviced, which changes its zero and gain. Its outliers look like our errors."
)
_SENSORS = "A model of one sensor, used for another that was beside it. The transfer needs no reference."
_INSIDE = "RESPIRE's weights are curves over temperature, and few support vectors are enough for them."
_FAULT = "R² of every method before and after the recordings were corrected."
