"""How a model agrees with a dataset, just as the edge would serve it."""

from edge_agent.core.model import Model
from model_export.recordings.dataset import Dataset
from model_export.regression.metrics import Score, score


def evaluate(model: Model, dataset: Dataset) -> Score:
    """The figures of a model on a dataset."""
    estimate = model.predict(dataset.inputs, dataset.auxiliary)
    return score(dataset.target, estimate, model.interval.half_width if model.interval else None)
