"""What a smaller model costs: R² and bytes against the number of support vectors."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from edge_agent.core import bundle
from edge_agent.core.model import Model
from model_export.calibration.calibrate import Recipe, compressed
from model_export.calibration.evaluate import evaluate
from model_export.recordings.dataset import Dataset
from model_export.regression.respire import Fitted

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class SizePoint:
    """One size on the curve; R² is that of the bundle as the edge would serve it."""

    size: int
    bytes: int
    r2_train: float
    r2_test: float


def size_curve(
    like: Model,
    fitted: Fitted,
    train: Dataset,
    test: Dataset,
    *,
    recipe: Recipe,
    sizes: Iterable[int] = SIZES,
) -> list[SizePoint]:
    """Each size that the train set can fill, in a bundle that says as much as `like`."""
    points = []
    for size in sorted({size for size in sizes if size < len(train)}):
        small = compressed(fitted, train, replace(recipe, size=size)).model
        model = replace(small, interval=like.interval, provenance=like.provenance)
        r2_train, r2_test = evaluate(model, train).r2, evaluate(model, test).r2
        points.append(SizePoint(len(model.support), len(bundle.encode(model)), r2_train, r2_test))
    return points
