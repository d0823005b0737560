"""Where a model comes from: the facts a bundle carries about its own making, and back."""

from collections.abc import Mapping
from importlib.metadata import version

import numpy as np

from edge_agent.core.errors import BadBundle, BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.messages import format_time
from edge_agent.core.model import Fact, Model
from edge_agent.core.windows import WINDOW_MS
from model_export.calibration.calibrate import Calibration
from model_export.recordings.dataset import Dataset
from model_export.regression.metrics import Score
from model_export.regression.respire import Hyperparameters

DENSITY_BINS = 24


def facts(calibration: Calibration, train: Dataset, test: Score, r2_train: float) -> dict[str, Fact]:
    """All that is worth knowing about a training, without a clock: the same data give the same bundle."""
    hyper = calibration.fitted.hyper
    counts, _ = np.histogram(train.auxiliary, DENSITY_BINS, calibration.model.domain["temperature"])
    found: dict[str, Fact] = {
        "dataset": train.name,
        **_dates(train),
        "n_test": test.n,
        "support": len(calibration.compressed.support),
        "r2_train": r2_train,
        "trend": hyper.trend,
        "lambda": hyper.ridge,
        "alpha": hyper.alpha,
        "eta": hyper.eta,
        "outliers": int(calibration.fitted.outliers.sum()),
        "temperature_counts": " ".join(map(str, counts)),
        "exporter": f"respire-edge {version('respire-edge')}",
    }
    if test.n:
        found |= {"r2_test": test.r2, "rmse_test": test.rmse}
    return found


def hyperparameters(model: Model) -> Hyperparameters:
    """Those that a model was fitted with."""
    known = model.provenance
    try:
        return Hyperparameters(
            kernel=model.kernel,
            trend=float(known["trend"]),
            length_scale=model.length_scale,
            ridge=float(known["lambda"]),
            alpha=float(known["alpha"]),
            eta=float(known["eta"]),
            steady=len(model.warming),
        )
    except (KeyError, ValueError) as error:
        raise BadBundle(
            f"bundle of {model.sensor}: expected the hyperparameters it was fitted with; fit it again"
        ) from error


def require_fitted_to(model: Model, train: Dataset) -> None:
    """Refuse windows that a model was not fitted to, by their number, dates and ranges."""
    known, found = (_stretch(facts) for facts in (model.provenance, _dates(train)))
    columns = zip((*train.channels, model.auxiliary), (*train.inputs.T, train.auxiliary), strict=True)
    others = [
        name
        for name, values in columns
        if not np.allclose(model.domain.get(name, np.nan), (values.min(), values.max()), rtol=1e-4)
    ]
    if known == found and others:
        found = f"other values of {', '.join(others)} in them"
    if known != found:
        raise BadRecording(
            f"{train.name}: expected the recording that the bundle was fitted to "
            f"({model.provenance.get('dataset')}: {known}), got {found}; "
            "give its files, --reference and --test-share as to fit"
        )


def density(model: Model) -> tuple[Array, Array] | None:
    """Edges (k + 1,) and counts (k,) of the training temperatures, where the bundle tells."""
    text, between = model.provenance.get("temperature_counts"), model.domain.get(model.auxiliary)
    if not isinstance(text, str) or between is None:
        return None
    counts = np.array([int(word) for word in text.split() if word.isdigit()], dtype=float)
    return (np.linspace(*between, len(counts) + 1), counts) if len(counts) else None


def _dates(train: Dataset) -> dict[str, Fact]:
    return {
        "from": format_time(int(train.start_ms[0])),
        "to": format_time(int(train.start_ms[-1]) + WINDOW_MS),
        "n_train": len(train),
    }


def _stretch(known: Mapping[str, Fact]) -> str:
    return f"{known.get('n_train')} windows from {known.get('from')} to {known.get('to')}"
