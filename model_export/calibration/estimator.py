"""RESPIRE as a scikit-learn estimator, for pipelines and grid searches."""

from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted, validate_data  # type: ignore[import-untyped]

from edge_agent.core.kernel import Array
from edge_agent.core.windows import WINDOW_MS
from model_export.calibration import export
from model_export.calibration.fit import Recipe, compressed
from model_export.calibration.interval import forward_conformal
from model_export.recordings.dataset import Dataset
from model_export.recordings.recording import TEMPERATURE
from model_export.regression.form import Fitted, Hyperparameters
from model_export.regression.respire import fit

DEFAULTS = Hyperparameters()


class RespireRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """y = w1(z)·x1 + … + wd(z)·xd + b(z), where z is one column of X: `auxiliary`, a place or a name.

    Hyperparameters as in `form.Hyperparameters`, in standardised quantities; the weights of the last
    `steady` channels do not depend on z, as for warming. With a `level`, `fit` also measures an interval,
    which needs rows in the order of time. After `fit`, `fitted_` is the fitted calibration, `outliers_` marks
    the rows treated as outliers, and `half_width_` is half the interval.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = X[:, 0] * np.cos(X[:, 2]) - X[:, 1] + 0.1 * X[:, 2]
    >>> RespireRegressor(ridge=0.1).fit(X, y).score(X, y) > 0.99
    True
    """

    def __init__(
        self,
        *,
        auxiliary: int | str = -1,
        kernel: str = DEFAULTS.kernel,
        trend: float = DEFAULTS.trend,
        length_scale: float = DEFAULTS.length_scale,
        ridge: float = DEFAULTS.ridge,
        alpha: float = DEFAULTS.alpha,
        eta: float = DEFAULTS.eta,
        steady: int = 0,
        level: float | None = None,
    ) -> None:
        self.auxiliary = auxiliary
        self.kernel = kernel
        self.trend = trend
        self.length_scale = length_scale
        self.ridge = ridge
        self.alpha = alpha
        self.eta = eta
        self.steady = steady
        self.level = level

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to channels and auxiliary variable X (n, d + 1) and the target y (n,)."""
        checked: Any = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_features=2)
        train = self._dataset(*checked)
        self.fitted_ = self._fitted(train)
        self.outliers_ = self.fitted_.outliers
        self.half_width_ = nan
        if self.level is not None:
            self.half_width_ = forward_conformal(train, self._forecast, self.level).half_width
        self._train = train
        return self

    def predict(self, X: ArrayLike, return_interval: bool = False) -> Array | tuple[Array, Array]:
        """The estimates for X (n, d + 1), (n,); with `return_interval` also low and high, (n, 2)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        estimate = self.fitted_.predict(*self._columns(X))
        if not return_interval:
            return estimate
        return estimate, np.column_stack([estimate - self.half_width_, estimate + self.half_width_])

    def to_bundle(
        self,
        path: str | Path,
        *,
        sensor: str,
        unit: str = "ppm",
        gas: str = "CO",
        window_ms: int = WINDOW_MS,
        size: int | None = None,
    ) -> Path:
        """Compress the fit and write it for an agent; the channels are named as the columns of X were.

        The agent serves weights that depend on the temperature, so a named auxiliary column must be that.
        """
        check_is_fitted(self)
        self._require_temperature()
        named = replace(self._train, name="RespireRegressor", sensor=sensor, unit=unit, window_ms=window_ms)
        small = compressed(self.fitted_, named, Recipe(size=size, gas=gas))
        export.write(small.model, Path(path), named, estimate=small.predict(named))
        return Path(path)

    def _require_temperature(self) -> None:
        known = getattr(self, "feature_names_in_", None)
        name = TEMPERATURE if known is None else str(known[self._place(len(known))])
        if name.lower() != TEMPERATURE:
            raise ValueError(
                f"auxiliary: expected the column {TEMPERATURE}, which the agent knows, got {name!r}; "
                "rename it if it is the temperature in °C"
            )

    def _fitted(self, train: Dataset) -> Fitted:
        hyper = Hyperparameters(
            self.kernel, self.trend, self.length_scale, self.ridge, self.alpha, self.eta, self.steady
        )
        return fit(*train.arrays, hyper)

    def _forecast(self, before: Dataset, after: Dataset) -> Array:
        return self._fitted(before).predict(after.inputs, after.auxiliary)

    def _dataset(self, X: Array, y: Array) -> Dataset:
        inputs, auxiliary = self._columns(X)
        known = getattr(self, "feature_names_in_", None)
        names = [f"op{place + 1}" for place in range(inputs.shape[1])]
        if known is not None:
            names = [str(name) for place, name in enumerate(known) if place != self._place(len(known))]
        start_ms = WINDOW_MS * np.arange(len(y), dtype=np.int64)
        return Dataset("X", "", tuple(names), "", start_ms, inputs, auxiliary, np.asarray(y, dtype=float))

    def _place(self, width: int) -> int:
        """The place of the auxiliary variable among the columns."""
        if not isinstance(self.auxiliary, str):
            return self.auxiliary % width
        names = [*map(str, getattr(self, "feature_names_in_", []))]
        if self.auxiliary not in names:
            raise ValueError(f"auxiliary: expected one of the columns {names}, got {self.auxiliary!r}")
        return names.index(self.auxiliary)

    def _columns(self, X: Any) -> tuple[Array, Array]:
        place = self._place(X.shape[1])
        return np.delete(X, place, axis=1), X[:, place]
