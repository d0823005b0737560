"""From a train part to a model: the agent serves what was fitted, and the interval covers."""

from dataclasses import replace

import numpy as np
import pytest

from model_export.calibration.fit import (
    Fit,
    Recipe,
    chosen,
    evaluate,
    fit_model,
    fit_with_interval,
    metal_oxide,
    paper,
    tuned,
)
from model_export.calibration.interval import inside
from model_export.recordings.dataset import Dataset
from model_export.regression.form import Hyperparameters
from model_export.regression.respire import fit as apis_fit
from tests.support.models import drawn

HYPER = Hyperparameters(length_scale=1.0, ridge=1.0, alpha=0.05)


def with_hyper(hyper: Hyperparameters) -> Fit:
    """A fit that is not tuned."""
    return lambda part: apis_fit(part.inputs, part.auxiliary, part.target, hyper)


def with_outliers(dataset: Dataset, share: float, seed: int) -> Dataset:
    """Some references far off, as in smoke."""
    random = np.random.default_rng(seed)
    hit = random.random(len(dataset)) < share
    return replace(dataset, target=dataset.target + hit * random.normal(0.0, 5.0, len(dataset)))


@pytest.mark.parametrize("recipe", [Recipe(), paper(Recipe()), Recipe(kernel="rbf"), Recipe(size=7)])
def test_the_agent_serves_what_was_fitted(recipe: Recipe) -> None:
    """Rounded to float32, a model differs from the trainer's by less than 1e-4 standard deviations."""
    train = drawn(600, noise=0.05)
    calibration = fit_model(train, chosen(train, replace(recipe, trials=2)), recipe)
    fresh = drawn(2000, seed=1)
    expected = calibration.predict(fresh)
    actual = calibration.model.predict(fresh.inputs, fresh.auxiliary)
    assert np.abs(expected - actual).max() < 1e-4 * train.target.std()
    assert recipe.size in (None, len(calibration.model.support))


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52", "rbf"])
def test_the_automatic_size_is_small_and_costs_little(kernel: str) -> None:
    """At least 95 % smaller than N, at most 0.002 of R² lost."""
    train = drawn(1000, noise=0.05)
    calibration = fit_model(train, with_hyper(replace(HYPER, kernel=kernel)), Recipe(kernel=kernel))
    full = calibration.fitted.predict(train.inputs, train.auxiliary)
    lost = np.var(train.target - calibration.model.predict(train.inputs, train.auxiliary)) - np.var(
        train.target - full
    )
    assert len(calibration.model.support) <= 0.05 * len(train)
    assert lost / np.var(train.target) <= 0.002


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_intervals_cover_fresh_data(seed: int, share: float) -> None:
    """90 % intervals cover 87 to 93 % of fresh windows from the same process, with or without outliers."""
    train = with_outliers(drawn(800, seed, noise=0.1), share, seed)
    fresh = with_outliers(drawn(20_000, seed + 50, noise=0.1), share, seed + 50)
    model = fit_with_interval(train, chosen(train, Recipe()), Recipe()).model
    assert 0.87 <= evaluate(model, fresh).coverage <= 0.93


def test_a_nearly_perfect_fit_still_covers() -> None:
    """Compression may cost more than the noise, most at the ends of the range; the interval includes that."""
    train, fresh = drawn(600, noise=0.002), drawn(20_000, seed=9, noise=0.002)
    model = fit_with_interval(train, chosen(train, Recipe()), Recipe(size=1)).model
    assert 0.87 <= evaluate(model, fresh).coverage <= 0.97


def test_the_domain_is_that_of_the_train_part() -> None:
    """The agent flags inputs outside it."""
    train = drawn(100)
    domain = fit_model(train, with_hyper(HYPER), Recipe()).model.domain
    assert (train.auxiliary.min(), train.auxiliary.max()) == domain["temperature"]
    assert (train.inputs[:, 1].min(), train.inputs[:, 1].max()) == domain["op2"]


def test_tuning_is_seeded_and_shows_progress() -> None:
    """The same seed gives the same hyperparameters; each trial is reported."""
    train, reported = drawn(150, noise=0.1), list[tuple[int, int]]()
    recipe = Recipe(tuning="folds", trials=4, seed=3)
    first = tuned(train, recipe, progress=lambda done, total: reported.append((done, total)))
    assert reported == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert first == tuned(train, recipe)
    assert (recipe.kernel, recipe.trend) == (first.kernel, first.trend)


def test_a_bent_signal_is_straightened() -> None:
    """For a metal-oxide sensor the power is chosen; an electrochemical one keeps its signal."""
    straight = drawn(800, noise=0.02)
    bent = replace(straight, inputs=straight.inputs**2)
    recipe = metal_oxide(Recipe())
    model = fit_model(bent, chosen(bent, recipe), recipe).model
    assert (model.power, model.sensor_type) == (0.5, "metal-oxide")
    assert fit_model(bent, chosen(bent, Recipe()), Recipe()).model.power == 1.0


def test_the_coverage_inside_the_train_part_is_told_by_stretches() -> None:
    """Of all kinds; all near the level on windows of one process."""
    train = drawn(800, noise=0.1)
    covered = fit_with_interval(train, chosen(train, Recipe()), Recipe()).covered
    assert list(covered) == ["time", "op1", "temperature", "reference", "later"]
    assert all(0.85 <= share <= 0.95 for share in covered.values())


def test_the_coverage_inside_the_train_part_is_that_of_the_interval_in_the_bundle() -> None:
    """With the noise of the reference left out it is narrower, and contains the reference less often."""
    train = drawn(800, noise=0.1)
    recipe = Recipe(reference_noise=0.08)
    plain, known = (fit_with_interval(train, chosen(train, one), one) for one in (Recipe(), recipe))
    assert all(known.covered[name] < share - 0.1 for name, share in plain.covered.items())


def test_windows_outside_training_are_not_counted_as_covered() -> None:
    """They have no interval; `promised` says how many have one."""
    train, fresh = drawn(300, noise=0.1), drawn(5000, seed=5, noise=0.1)
    model = fit_with_interval(train, chosen(train, Recipe()), Recipe()).model
    found = evaluate(model, replace(fresh, auxiliary=fresh.auxiliary + 5.0))
    assert found.promised == inside(model, replace(fresh, auxiliary=fresh.auxiliary + 5.0)).mean() < 0.95
