"""The directory of bundles on this gateway, one for each sensor."""

from collections.abc import Iterator
from pathlib import Path

from edge_agent import bundle
from edge_agent.errors import BadBundle
from edge_agent.model import Model

SUFFIX = ".bundle"


def load(path: Path) -> dict[str, Model]:
    """The model of every sensor that has a bundle in a directory (or in one file); a bad one stops it."""
    models: dict[str, Model] = {}
    files: dict[str, Path] = {}
    for file in listed(path):
        model = read(file)
        if model.sensor in models:
            others = f"{files[model.sensor].name} and {file.name}"
            raise BadBundle(
                f"{path}: expected one bundle for sensor {model.sensor}, got {others}; remove one"
            )
        models[model.sensor], files[model.sensor] = model, file
    return models


def listed(path: Path) -> list[Path]:
    """The bundle files of a directory, by name."""
    try:
        return [path] if path.is_file() else sorted(_bundles(path))
    except OSError as error:
        raise BadBundle(f"{path}: {error.strerror}; expected a directory of {SUFFIX} files") from error


def _bundles(directory: Path) -> Iterator[Path]:
    return (file for file in directory.iterdir() if file.suffix == SUFFIX and not file.name.startswith("."))


def read(file: Path) -> Model:
    """The model in one file; no more of it is read than a bundle may have."""
    try:
        with file.open("rb") as stream:
            data = stream.read(bundle.MAX_BYTES + 1)
    except OSError as error:
        raise BadBundle(f"{file}: {error.strerror}; expected a bundle written by model-export") from error
    return bundle.decode(data, str(file))
