"""RESPIRE in scikit-learn's terms."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer  # type: ignore[import-untyped]
from sklearn.model_selection import GridSearchCV  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import MinMaxScaler  # type: ignore[import-untyped]
from sklearn.utils.estimator_checks import parametrize_with_checks  # type: ignore[import-untyped]

from model_export.calibration import export
from model_export.calibration.estimator import RespireRegressor
from model_export.regression.form import Hyperparameters
from model_export.regression.respire import fit


@parametrize_with_checks([RespireRegressor(), RespireRegressor(kernel="rbf", trend=0.0, auxiliary=0)])  # type: ignore[untyped-decorator]
def test_it_passes_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_it_is_the_same_regression_as_fit() -> None:
    """The estimator adds an interface and no arithmetic; the auxiliary variable may be any column."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    expected = fit(X[:, [0, 2]], X[:, 1], y, Hyperparameters(ridge=2.0, alpha=0.1))
    actual = RespireRegressor(auxiliary=1, ridge=2.0, alpha=0.1).fit(X, y)
    np.testing.assert_array_equal(expected.predict(X[:, [0, 2]], X[:, 1]), actual.predict(X))
    np.testing.assert_array_equal(expected.outliers, actual.outliers_)


def test_scaling_before_it_changes_nothing() -> None:
    """It works in a pipeline, and standardises channels, auxiliary variable and target by itself."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] * np.sin(X[:, 2]) + X[:, 1] + 0.1 * rng.normal(size=300)
    plain, scaled = RespireRegressor(), make_pipeline(MinMaxScaler(), RespireRegressor())
    np.testing.assert_allclose(plain.fit(X, y).predict(X), scaled.fit(X, y).predict(X), atol=1e-6)


def frame(n: int = 400, seed: int = 2) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    columns = ["op1", "temperature", "op2"]
    X = pd.DataFrame(rng.normal([230.0, 20.0, 200.0], [20.0, 5.0, 10.0], (n, 3)), columns=columns)
    gain = 0.02 + 0.001 * np.sin(X["temperature"])
    return X, gain * X["op1"] - 0.01 * X["op2"] + rng.normal(0, 0.05, n)


def test_the_auxiliary_variable_may_be_named() -> None:
    X, y = frame()
    by_name, by_place = RespireRegressor(auxiliary="temperature"), RespireRegressor(auxiliary=1)
    np.testing.assert_array_equal(by_name.fit(X, y).predict(X), by_place.fit(X, y).predict(X))
    assert by_name.feature_names_in_.tolist() == ["op1", "temperature", "op2"]
    with pytest.raises(ValueError, match=r"auxiliary: expected one of the columns .* got 'humidity'"):
        RespireRegressor(auxiliary="humidity").fit(X, y)


def test_its_interval_covers_rows_it_has_not_seen() -> None:
    X, y = frame(1000)
    model = RespireRegressor(auxiliary="temperature", level=0.9).fit(X[:700], y[:700])
    estimate, interval = model.predict(X[700:], return_interval=True)
    covered = (interval[:, 0] <= y[700:]) & (y[700:] <= interval[:, 1])
    assert 0.85 < covered.mean() < 0.97
    np.testing.assert_allclose(interval.mean(axis=1), estimate)


def test_a_bundle_of_it_gives_its_estimates(tmp_path: Path) -> None:
    X, y = frame()
    model = RespireRegressor(auxiliary="temperature").fit(X, y)
    written = model.to_bundle(tmp_path / "5A2D.bundle", sensor="5A2D", size=64)
    read = export.read(written)
    assert (read.sensor, read.channels) == ("5A2D", ("op1", "op2"))
    found = read.predict(X[["op1", "op2"]].to_numpy(), X["temperature"].to_numpy())
    assert np.abs(found - model.predict(X)).max() < 0.05


def test_no_bundle_is_made_of_weights_over_something_else(tmp_path: Path) -> None:
    """An agent would take the temperature for the humidity."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["op1", "humidity"])
    fitted = RespireRegressor(auxiliary="humidity").fit(X, X["op1"])
    with pytest.raises(ValueError, match=r"expected the column temperature, .* got 'humidity'; rename it"):
        fitted.to_bundle(tmp_path / "5A2D.bundle", sensor="5A2D")
    X = X.rename(columns={"humidity": "Temperature"})
    fitted = RespireRegressor(auxiliary="Temperature").fit(X, X["op1"])
    assert fitted.to_bundle(tmp_path / "5A2D.bundle", sensor="5A2D").exists()


def test_a_grid_search_in_a_pipeline_finds_the_ridge() -> None:
    X, y = frame()
    scaled = ColumnTransformer([("scale", MinMaxScaler(), ["op1", "op2"])], remainder="passthrough")
    pipeline, grid = make_pipeline(scaled, RespireRegressor()), {"respireregressor__ridge": [0.1, 1e4]}
    search = GridSearchCV(pipeline, grid, cv=3)
    assert search.fit(X, y).best_params_ == {"respireregressor__ridge": 0.1}
