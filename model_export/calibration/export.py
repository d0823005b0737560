"""Bundles on disk: a file under its name is always whole, and always what the trainer meant."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edge_agent.core import bundle
from edge_agent.core.errors import BadBundle
from edge_agent.core.kernel import Array
from edge_agent.core.model import Model

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
    """Write a model aside, read it back as the agent would, compare, and only then give it its name.

    A crash at any moment leaves the old file or the new one, never a part; a bundle that does not
    reproduce the trainer's estimates never replaces one that works.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        data = bundle.encode(model)
        _write_through(aside, data)
        decoded = bundle.decode(aside.read_bytes(), path.name)
        _compare(decoded, probe, path.name)
        aside.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise BadBundle(f"{path}: could not be written: {error.strerror or error}") from error
    finally:
        aside.unlink(missing_ok=True)
    return Exported(path, decoded, len(data))


def read(path: Path) -> Model:
    """The model in a bundle file."""
    try:
        return bundle.decode(path.read_bytes(), path.name)
    except FileNotFoundError:
        raise BadBundle(f"{path}: expected a bundle, got no such file; check the path") from None
    except OSError as error:
        raise BadBundle(f"{path}: could not be read: {error.strerror or error}") from error


def _write_through(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """The new name is in the folder, so the folder must reach the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _compare(model: Model, probe: Probe, name: str) -> None:
    difference = np.abs(model.predict(probe.inputs, probe.auxiliary) - probe.estimate).max(initial=0.0)
    allowed = TOLERANCE * model.target_scale.spread * max(1.0, abs(model.adapter[0]))
    if not difference <= allowed:
        raise BadBundle(
            f"{name}: expected the trainer's estimates within {allowed:.3g} {model.unit}, "
            f"got {difference:.3g} away; nothing was replaced"
        )
