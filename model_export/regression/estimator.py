"""RESPIRE as a scikit-learn estimator, for pipelines and grid searches."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted, validate_data  # type: ignore[import-untyped]

from edge_agent.core.kernel import Array
from model_export.regression.respire import Hyperparameters, fit

DEFAULTS = Hyperparameters()


class RespireRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """y = w1(z)·x1 + … + wd(z)·xd + b(z), where z is one column of X (the last by default).

    Hyperparameters as in `respire.Hyperparameters`, in standardised quantities. After `fit`,
    `fitted_` is the fitted calibration and `outliers_` marks the rows treated as outliers.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = X[:, 0] * np.cos(X[:, 2]) - X[:, 1] + 0.1 * X[:, 2]
    >>> RespireRegressor(ridge=0.1).fit(X, y).score(X, y) > 0.99
    True
    """

    def __init__(
        self,
        *,
        auxiliary: int = -1,
        kernel: str = DEFAULTS.kernel,
        trend: float = DEFAULTS.trend,
        length_scale: float = DEFAULTS.length_scale,
        ridge: float = DEFAULTS.ridge,
        alpha: float = DEFAULTS.alpha,
        eta: float = DEFAULTS.eta,
    ) -> None:
        self.auxiliary = auxiliary
        self.kernel = kernel
        self.trend = trend
        self.length_scale = length_scale
        self.ridge = ridge
        self.alpha = alpha
        self.eta = eta

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to channels and auxiliary variable X (n, d + 1) and the target y (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_features=2)
        hyper = Hyperparameters(self.kernel, self.trend, self.length_scale, self.ridge, self.alpha, self.eta)
        self.fitted_ = fit(*self._columns(X), y, hyper)
        self.outliers_ = self.fitted_.outliers
        return self

    def predict(self, X: ArrayLike) -> Array:
        """The estimates for X (n, d + 1)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.fitted_.predict(*self._columns(X))

    def _columns(self, X: Any) -> tuple[Array, Array]:
        return np.delete(X, self.auxiliary, axis=1), X[:, self.auxiliary]
