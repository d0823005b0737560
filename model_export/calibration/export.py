"""Bundles on disk: a file under its name is always whole, and always what the trainer meant."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edge_agent.core import bundle
from edge_agent.core.errors import BadBundle
from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from model_export.files import write_atomically

TOLERANCE = 1e-4  # of the target's spread: what float32 may cost


@dataclass(frozen=True, slots=True)
class Probe:
    """Inputs and what the trainer itself estimates for them."""

    inputs: Array  # (n, d)
    auxiliary: Array  # (n,)
    estimate: Array  # (n,)


@dataclass(frozen=True, slots=True)
class Exported:
    """A bundle that was written, as the agent will read it."""

    path: Path
    model: Model
    size_bytes: int


def write(model: Model, path: Path, probe: Probe) -> Exported:
    """Encode a model, decode it as the agent would, compare the estimates, and only then write the file.

    A bundle that does not reproduce the trainer's estimates never replaces one that works.
    """
    data = bundle.encode(model)
    decoded = bundle.decode(data, path.name)
    _compare(decoded, probe, path.name)
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


def _compare(model: Model, probe: Probe, name: str) -> None:
    difference = np.abs(model.predict(probe.inputs, probe.auxiliary) - probe.estimate).max(initial=0.0)
    allowed = TOLERANCE * model.target_scale.spread * max(1.0, abs(model.adapter[0]))
    if not difference <= allowed:
        raise BadBundle(
            f"{name}: expected the trainer's estimates within {allowed:.3g} {model.unit}, "
            f"got {difference:.3g} away; nothing was replaced"
        )
