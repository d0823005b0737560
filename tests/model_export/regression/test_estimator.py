"""RESPIRE in scikit-learn's terms."""

from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import MinMaxScaler  # type: ignore[import-untyped]
from sklearn.utils.estimator_checks import parametrize_with_checks  # type: ignore[import-untyped]

from model_export.regression.estimator import RespireRegressor
from model_export.regression.respire import Hyperparameters, fit


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
