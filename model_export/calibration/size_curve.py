"""What a smaller model costs: R² and bytes against the number of support vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from edge_agent.core import bundle
from edge_agent.core.model import Model
from model_export.calibration.fit import Recipe, compressed, evaluate
from model_export.recordings.dataset import Dataset
from model_export.regression.compress import Method
from model_export.regression.form import Fitted

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class SizePoint:
    """One size on the curve; R² is that of the bundle, as the agent would serve it."""

    size: int
    bytes: int
    r2_train: float
    r2_test: float


Curves = Mapping[str, Sequence[SizePoint]]  # by method


def size_curves(
    like: Model, fitted: Fitted, train: Dataset, test: Dataset, sizes: Sequence[int] = SIZES
) -> Curves:
    """Both methods at each size that the train part can fill, in bundles with the metadata of `like`."""
    possible = sorted({size for size in sizes if size < len(train)})
    return {
        method: [
            _point(like, compressed(fitted, train, Recipe(method=method, size=size)).model, train, test)
            for size in possible
        ]
        for method in get_args(Method)
    }


def _point(like: Model, small: Model, train: Dataset, test: Dataset) -> SizePoint:
    model = replace(small, gas=like.gas, interval=like.interval, provenance=like.provenance)
    r2_train, r2_test = evaluate(model, train).r2, evaluate(model, test).r2
    return SizePoint(len(model.support), len(bundle.encode(model)), r2_train, r2_test)
