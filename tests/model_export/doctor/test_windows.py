"""What 15-minute windows show: too little, outliers, drift, steps and weights that mean nothing."""

from dataclasses import replace

import numpy as np
import pytest

from edge_agent.core.robust import robust_spread
from model_export.calibration.fit import Recipe
from model_export.doctor import coverage, drift, erratic, outliers
from model_export.doctor.finding import Finding
from model_export.doctor.prepare import law_of
from model_export.doctor.smooth import huber, smooth
from model_export.recordings.dataset import Dataset, windows
from tests.support.cases import of_windows
from tests.support.colocations import colocation


def dataset(days: float = 10.0, seed: int = 0, **kind: object) -> Dataset:
    return windows(colocation(days, seed, air=seed, **kind), "ppm")  # type: ignore[arg-type]


def looked_at(found: Dataset) -> list[Finding]:
    cases = [of_windows(found)]
    return [*outliers.check(cases), *drift.check(cases), *erratic.check(cases), *coverage.check(cases)]


@pytest.mark.parametrize("seed", range(6))
def test_a_sound_recording_shows_nothing(seed: int) -> None:
    """Days enough, a range of temperatures, errors without a trend, weights that mean something."""
    sound = dataset(seed=seed)
    assert looked_at(sound) == []


def test_few_days_and_few_degrees_are_told() -> None:
    sound = dataset(days=3.0)
    codes = [finding.code for finding in coverage.check([of_windows(sound)])]
    assert codes == ["colocation_short"]
    indoors = replace(sound, auxiliary=20.0 + 0.2 * (sound.auxiliary - 20.0))
    codes = [finding.code for finding in coverage.check([of_windows(indoors)])]
    assert codes == ["colocation_short", "narrow_temperature"]
    nothing = sound.part(slice(0))
    assert [finding.code for finding in coverage.check([of_windows(nothing)])] == ["colocation_short"]


def test_the_law_is_not_led_astray_by_outliers() -> None:
    """With 5 % of the targets spoilt the fit is nearly that of the others alone."""
    rng = np.random.default_rng(0)
    design = np.column_stack([rng.normal(size=400), np.ones(400)])
    target = design @ [2.0, 1.0] + 0.1 * rng.normal(size=400)
    spoilt = target.copy()
    spoilt[::20] += 50.0
    fitted, residual, tamed = huber(design, spoilt)
    assert fitted == pytest.approx(design @ [2.0, 1.0], abs=0.1)
    assert np.abs(residual[::20]).min() > 40.0
    assert np.abs(tamed).max() <= 4.0 * robust_spread(residual) * 1.01


def test_the_law_knows_how_a_cell_lags_behind_its_thermometer() -> None:
    """As the fit does: for an electrochemical cell, not for a heated metal-oxide sensor."""
    sound = dataset()
    warming = sound.warmed(Recipe().warming).inputs[:, -1]
    lagging = replace(sound, target=sound.target + 0.5 * warming)
    cell, heated = law_of(lagging), law_of(lagging, "metal-oxide")
    assert cell
    assert heated
    assert cell.spread < 0.5 * heated.spread


def test_outliers_are_counted_and_the_worst_are_named() -> None:
    """Twelve plumes at one inlet: exactly those are found."""
    sound = dataset()
    where = np.arange(50, 950, 75)
    target = sound.target.copy()
    target[where] += np.linspace(0.3, 0.6, len(where))
    (finding,) = outliers.check([of_windows(spoilt := replace(sound, target=target))])
    assert (finding.code, finding.severity) == ("outliers", "info")
    assert finding.evidence["windows"] == len(where)
    worst = [one["start"] for one in finding.evidence["worst"]]
    starts = spoilt.start_ms[where[::-1][:10]]
    assert sorted(worst) == sorted(f"{np.datetime64(int(start), 'ms')}"[:19] + "Z" for start in starts)


def test_hours_that_the_law_does_not_fit_are_no_outliers() -> None:
    """Misfit has a memory; outliers are alone."""
    sound = dataset()
    target = sound.target.copy()
    for start in range(40, 900, 60):
        target[start : start + 3] += [0.7, 1.0, 0.7]
    spoilt = replace(sound, target=target)
    assert [*outliers.check([of_windows(spoilt)])] == []


@pytest.mark.parametrize(("share", "severity"), [(0.01, "info"), (0.04, "warning")])
def test_outliers_matter_where_plain_least_squares_would_follow_them(share: float, severity: str) -> None:
    """Few are good to know, many of one sign move a fit that is not robust."""
    sound = dataset()
    where = np.random.default_rng(0).permutation(len(sound))[: int(share * len(sound))]
    target = sound.target.copy()
    target[where] += 0.4
    (finding,) = outliers.check([of_windows(replace(sound, target=target))])
    assert finding.severity == severity
    assert (finding.evidence["plain_fit_off_by"] > 1.0) == (severity == "warning")


def ramp(sound: Dataset, change: float) -> Dataset:
    return replace(sound, target=sound.target + change * np.linspace(0.0, 1.0, len(sound)))


def step(sound: Dataset, change: float, share: float) -> Dataset:
    after = np.arange(len(sound)) >= share * len(sound)
    return replace(sound, target=sound.target + change * after)


@pytest.mark.parametrize("change", [-0.3, 0.3])
def test_drift_is_found_with_its_size_and_sign(change: float) -> None:
    spoilt = ramp(dataset(), change)
    (finding,) = drift.check([of_windows(spoilt)])
    assert (finding.code, finding.evidence["shape"]) == ("drift", "ramp")
    assert finding.evidence["change"] == pytest.approx(change, rel=0.15)
    assert finding.evidence["explained"] > finding.evidence["explained_by_chance"]


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_step_of_the_reference_is_found_with_its_moment(share: float) -> None:
    spoilt = step(dataset(), 0.2, share)
    (finding,) = drift.check([of_windows(spoilt)])
    assert (finding.code, finding.evidence["shape"]) == ("reference_zero_shift", "step")
    assert finding.evidence["change"] == pytest.approx(0.2, rel=0.15)
    at = np.datetime64(finding.evidence["at"].rstrip("Z")).astype("datetime64[ms]").astype(int)
    assert abs(at - spoilt.start_ms[int(share * len(spoilt))]) < 12 * 3_600_000


def test_what_may_be_a_ramp_or_a_step_is_told_as_both() -> None:
    """Half-way between the two, the same event must not get one name or the other by luck."""
    sound = dataset()
    along = np.clip(np.linspace(-0.95, 1.95, len(sound)), 0.0, 1.0)
    spoilt = replace(sound, target=sound.target + 0.1 * along)
    (finding,) = drift.check([of_windows(spoilt)])
    assert (finding.code, finding.evidence["shape"]) == ("drift", "unclear")
    assert finding.evidence["ramp"]["change"] == pytest.approx(0.14, rel=0.25)
    assert finding.evidence["step"]["change"] == pytest.approx(0.08, rel=0.25)
    assert finding.evidence["step"]["at"] in finding.summary
    assert "the data do not show which" in finding.summary


@pytest.mark.parametrize("shape", ["ramp", "step"])
def test_the_change_told_is_that_of_the_shape_named(shape: str) -> None:
    """Also where the other explains a little more."""
    found = drift.Drift(shape, drift.Change(0.3, 0.40), drift.Change(0.2, 0.41), 5, 0.2, 0.05)
    assert found.change == (found.ramp if shape == "ramp" else found.step)
    assert found.significant


def test_four_days_are_too_few_for_a_trend() -> None:
    short = ramp(dataset(days=4.0), 0.5)
    assert drift.drift(short, smooth(short)) is None


@pytest.mark.parametrize("answers", [(0.0, 0.0), (0.0,)])
def test_weights_of_a_sensor_that_does_not_answer_are_erratic(answers: tuple[float, ...]) -> None:
    """Nothing there to learn: the null band swallows the weight."""
    dead = dataset(answers=answers)
    (finding,) = erratic.check([of_windows(dead)])
    assert (finding.code, finding.severity) == ("erratic_weights", "warning")
    assert finding.evidence["share"] > 0.3


@pytest.mark.parametrize(("places", "severity"), [(1, "info"), (3, "info"), (4, "warning")])
def test_weights_that_are_erratic_in_few_windows_are_no_warning(places: int, severity: str) -> None:
    """Each of the 40 places stands for as many windows; at the edges there are few to fit to."""
    weights, edge = np.ones((40, 2)), np.arange(40)[:, None] < places
    found = erratic.Curves(np.arange(40.0), weights, np.where(edge, 2.0, 0.1) * weights, 0)
    assert erratic.finding(of_windows(dataset(days=1.0)), found).severity == severity


def test_the_null_band_covers_what_noise_makes_of_the_weights() -> None:
    """Over ten dead sensors nearly no weight leaves its simultaneous band."""
    left = 0
    for seed in range(10):
        found = erratic.curves(smooth(dataset(days=4.0, seed=seed, answers=(0.0,))))
        left += bool((np.abs(found.weights[:, 0]) > found.band[:, 0]).any())
    assert left <= 2
