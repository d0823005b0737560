"""Fits by tempered evidence, against the slow obvious way."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from edge_agent.core.kernel import Array
from model_export.regression import evidence
from model_export.regression.evidence import (
    FLAT,
    SPREAD,
    TEMPER,
    basis,
    choose_power,
    fit,
    log_evidence,
    sums,
)
from model_export.regression.form import standardised

Data = tuple[Array, Array, Array]


def recording(n: int = 400, seed: int = 0, noise: float = 0.05, bend: float = 0.3) -> Data:
    """Two electrodes whose weights follow temperature, bent by `bend`."""
    random = np.random.default_rng(seed)
    inputs = random.normal([230.0, 205.0], [20.0, 10.0], size=(n, 2))
    auxiliary = random.uniform(5.0, 40.0, n)
    gain = 0.02 * (1.0 + 0.02 * (auxiliary - 20.0) + bend * np.cos(auxiliary / 5.0))
    return inputs, auxiliary, gain * (inputs[:, 0] - inputs[:, 1]) + random.normal(0.0, noise, n)


def test_the_evidence_is_that_of_the_gaussian_process() -> None:
    """Without tempering it is the density of y under N(0, ΦDΦᵀ + s²I), up to a constant, and the prior's."""
    data = standardised(*recording(60))
    whole = basis(data, "matern32", 1.0, steady=0)
    random = np.random.default_rng(1)
    values, expected = [], []
    for _ in range(3):
        logs = random.normal(size=whole.groups.max() + 1)
        found = sums(
            whole.columns, data.y, np.full(60, TEMPER)
        )  # these weights undo the tempering of Φ and y
        values.append(
            log_evidence(logs, evidence.Sums(found.gram, found.moment, found.square, 60.0), whole.groups)[0]
        )
        variances = np.append(np.exp(logs[:-1]), FLAT)[whole.groups]
        dense = whole.columns * variances @ whole.columns.T + np.exp(logs[-1]) * np.eye(60)
        density = multivariate_normal(np.zeros(60), dense).logpdf(data.y)
        expected.append(density - 0.5 * np.sum((logs[:-1] / SPREAD) ** 2))
    assert np.diff(values) == pytest.approx(np.diff(expected))


def test_the_gradient_is_that_of_the_evidence() -> None:
    """By central differences."""
    data = standardised(*recording(80))
    whole = basis(data, "matern32", 1.0, steady=1)
    found, logs = sums(whole.columns, data.y, np.ones(80)), np.linspace(-2.0, 1.0, whole.groups.max() + 1)
    _, gradient, _ = log_evidence(logs, found, whole.groups)
    steps = 1e-5 * np.eye(len(logs))
    slopes = [
        (
            log_evidence(logs + step, found, whole.groups)[0]
            - log_evidence(logs - step, found, whole.groups)[0]
        )
        / 2e-5
        for step in steps
    ]
    assert gradient == pytest.approx(slopes, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52", "rbf"])
def test_curved_weights_are_followed(kernel: str) -> None:
    """The mean of the forms is close to the truth where the straight one alone is not."""
    fresh = recording(2000, seed=7, noise=0.0)
    fitted = fit(*recording(1500), kernel=kernel)
    error = fresh[2] - fitted.predict(fresh[0], fresh[1])
    assert 1.0 - error.var() / fresh[2].var() > 0.93


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_gross_outliers_change_little_and_are_marked(share: float) -> None:
    """A fifth of the references far off costs little more than the noise."""
    inputs, auxiliary, target = recording(1000, bend=0.0)
    random = np.random.default_rng(3)
    hit = random.random(1000) < share
    fitted = fit(inputs, auxiliary, target + hit * random.uniform(3.0, 6.0, 1000), kernel="matern32")
    fresh = recording(2000, seed=7, noise=0.0, bend=0.0)
    assert np.abs(fitted.predict(fresh[0], fresh[1]) - fresh[2]).mean() < 0.1
    assert (fitted.outliers == hit).mean() > 0.97


def test_warming_has_one_weight_at_all_temperatures() -> None:
    """The last channels are steady."""
    inputs, auxiliary, target = recording()
    warming = np.random.default_rng(2).normal(size=(400, 1))
    fitted = fit(
        np.column_stack([inputs, warming]),
        auxiliary,
        target + 0.3 * warming[:, 0],
        kernel="matern32",
        steady=1,
    )
    weights = fitted.weights(np.linspace(5.0, 40.0, 9))[:, 2]
    assert weights == pytest.approx(np.full(9, 0.3), abs=0.02)


def test_a_power_is_chosen_by_evidence() -> None:
    """Signals that were squared ask for the root."""
    inputs, auxiliary, target = recording(800, bend=0.0)
    assert choose_power(inputs**2, auxiliary, target, evidence.POWERS, kernel="matern32") == 0.5
    assert choose_power(inputs, auxiliary, target, evidence.POWERS, kernel="matern32") == 1.0
