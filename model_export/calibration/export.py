"""Bundles on disk: what they say about their own fit, written only if they reproduce it, and read back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from edge_agent.core import bundle
from edge_agent.core.errors import BadBundle, BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.messages import LAST_MS, format_time
from edge_agent.core.model import Fact, Model
from model_export.files import write_atomically
from model_export.recordings.dataset import Dataset
from model_export.recordings.names import Place
from model_export.regression import evidence, respire
from model_export.regression.compress import Compressed
from model_export.regression.form import Fitted, Hyperparameters
from model_export.regression.metrics import Score

TOLERANCE = 1e-4  # of the target's spread: what float32 may cost
DENSITY_BINS = 24
DAY_MS = 86_400_000
OF_INTERVAL = ("covered", "reference_noise")  # in the provenance


@dataclass(frozen=True, slots=True)
class Exported:
    """A bundle that was written, as the agent will read it."""

    path: Path
    model: Model
    size_bytes: int


def write(model: Model, path: Path, dataset: Dataset, estimate: Array | None = None) -> Exported:
    """Encode a model, decode it as the agent would, compare the estimates, and only then write the file.

    `estimate` are the trainer's own estimates for the dataset, (n,); by default the model's. A bundle that
    does not reproduce them never replaces one that works.
    """
    expected = model.predict(dataset.inputs, dataset.auxiliary) if estimate is None else estimate
    data = bundle.encode(model)
    decoded = bundle.decode(data, path.name)
    _require_same(expected, decoded.predict(dataset.inputs, dataset.auxiliary), decoded, path.name)
    write_atomically(path, data)
    return Exported(path, decoded, len(data))


def read(path: Path) -> Model:
    """The model in a bundle file."""
    try:
        return bundle.decode(path.read_bytes(), path.name)
    except FileNotFoundError:
        raise BadBundle(f"{path}: expected a bundle, got no such file; check the path") from None
    except OSError as error:
        raise BadBundle(f"{path}: could not be read: {error.strerror or error}") from error


def facts(model: Model, fitted: Fitted, train: Dataset, test: Score, r2_train: float) -> dict[str, Fact]:
    """The provenance of a model. It has no date of its making: the same data give the same bundle."""
    counts, _ = np.histogram(train.auxiliary, DENSITY_BINS, model.domain["temperature"])
    found: dict[str, Fact] = {
        "dataset": train.name,
        **_site(train),
        **_dates(train),
        "n_test": test.n,
        "support": len(model.support),
        "r2_train": r2_train,
        **settings(fitted),
        "outliers": int(fitted.outliers.sum()),
        "temperature_counts": " ".join(map(str, counts)),
        "exporter": f"respire-edge {version('respire-edge')}",
    }
    if test.n:
        found |= {"r2_test": test.r2, "rmse_test": test.rmse}
    return found


def model_of(fitted: Fitted, small: Compressed, train: Dataset, gas: str, sensor_type: str) -> Model:
    """The model of a full fit on a few support vectors, without provenance and interval."""
    names, columns = (*train.channels, "temperature"), (*train.inputs.T, train.auxiliary)
    return Model(
        sensor=train.sensor,
        gas=gas,
        unit=train.unit,
        channels=train.channels,
        kernel=fitted.hyper.kernel,
        length_scale=fitted.hyper.length_scale,
        channel_scales=fitted.channel_scales,
        auxiliary_scale=fitted.auxiliary_scale,
        target_scale=fitted.target_scale,
        support=small.support,
        coefficients=small.coefficients,
        trend=small.trend,
        hold=fitted.hold,
        sensor_type=sensor_type,
        power=fitted.power,
        warming=train.warming,
        cadence_minutes=train.cadence_minutes,
        window_ms=train.window_ms,
        domain={
            name: (float(values.min()), float(values.max()))
            for name, values in zip(names, columns, strict=True)
        },
    )


def dated(model: Model, part: Dataset, days: int | None) -> Model:
    """The model with the end of the data behind it, and how long after that it is good; None: for ever."""
    end_ms = int(part.start_ms[-1]) + part.window_ms
    until_ms = None if days is None else min(end_ms + days * DAY_MS, LAST_MS - 1000)
    return replace(model, calibrated_ms=end_ms, valid_until_ms=until_ms)


def renewed(model: Model, part: Dataset) -> Model:
    """The same for a model that was adapted to other data: it is good for as long as before."""
    if model.calibrated_ms is None or model.valid_until_ms is None:
        return dated(model, part, None)
    return dated(model, part, (model.valid_until_ms - model.calibrated_ms) // DAY_MS)


def without_interval(known: Mapping[str, Fact]) -> dict[str, Fact]:
    """The provenance without what it says of an interval that no longer holds."""
    return {name: fact for name, fact in known.items() if name not in OF_INTERVAL}


def covered(shares: Mapping[str, float]) -> dict[str, Fact]:
    """The coverage inside the train part, for the card.

    >>> covered({"time": 0.912, "temperature": 0.9})
    {'covered': 'time 0.91, temperature 0.90'}
    """
    return {"covered": ", ".join(f"{name} {share:.2f}" for name, share in shares.items())} if shares else {}


def settings(fitted: Fitted) -> dict[str, Fact]:
    """What tuning chose, so that the fit can be repeated."""
    hyper = fitted.hyper
    if fitted.tuning == "evidence":
        return {"tuning": fitted.tuning}
    names = {"trend": hyper.trend, "lambda": hyper.ridge, "alpha": hyper.alpha, "eta": hyper.eta}
    return {"tuning": fitted.tuning, **names}


def refit(model: Model) -> Callable[[Dataset], Fitted]:
    """The full fit that a model was compressed from, to be repeated on its train part."""
    known, steady = model.provenance, len(model.warming)
    if known.get("tuning") == "evidence":
        return lambda train: evidence.fit(
            *train.arrays, kernel=model.kernel, steady=steady, power=model.power
        )
    try:
        hyper = Hyperparameters(
            kernel=model.kernel,
            trend=float(known["trend"]),
            length_scale=model.length_scale,
            ridge=float(known["lambda"]),
            alpha=float(known["alpha"]),
            eta=float(known["eta"]),
            steady=steady,
        )
    except (KeyError, ValueError) as error:
        raise BadBundle(
            f"bundle of {model.sensor}: expected the hyperparameters it was fitted with; fit it again"
        ) from error
    return lambda train: respire.fit(*train.arrays, hyper)


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
            "use the same files, --reference and --test-share as for fit"
        )


def density(model: Model) -> tuple[Array, Array] | None:
    """Edges (k + 1,) and counts (k,) of the training temperatures, if the bundle has them."""
    text, between = model.provenance.get("temperature_counts"), model.domain.get(model.auxiliary)
    if not isinstance(text, str) or between is None:
        return None
    counts = np.array([int(word) for word in text.split() if word.isdigit()], dtype=float)
    return (np.linspace(*between, len(counts) + 1), counts) if len(counts) else None


def _require_same(expected: Array, actual: Array, model: Model, name: str) -> None:
    difference = np.abs(actual - expected).max(initial=0.0)
    allowed = TOLERANCE * model.target_scale.spread * max(1.0, abs(model.adapter[0]))
    if not difference <= allowed:
        raise BadBundle(
            f"{name}: expected the trainer's estimates within {allowed:.3g} {model.unit}, "
            f"got {difference:.3g} away; nothing was replaced"
        )


def _site(train: Dataset) -> dict[str, Fact]:
    """Where it was recorded, if the name of the file says so."""
    place = Place.parse(train.name)
    return {"site": place.site} if place else {}


def _dates(train: Dataset) -> dict[str, Fact]:
    return {
        "from": format_time(int(train.start_ms[0])),
        "to": format_time(int(train.start_ms[-1]) + train.window_ms),
        "n_train": len(train),
    }


def _stretch(known: Mapping[str, Fact]) -> str:
    return f"{known.get('n_train')} windows from {known.get('from')} to {known.get('to')}"
