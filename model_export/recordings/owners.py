"""Whose recordings these are, as far as names of files tell."""

from collections.abc import Iterable
from pathlib import Path

from model_export.recordings.catalogue import TABLES, Place


def identity(path: Path) -> tuple[str, str]:
    """The sensor and deployment that a file's name gives to the catalogue; otherwise its stem for both.

    >>> identity(Path("co/5A2D_T-W.csv")), identity(Path("january.csv.gz"))
    (('5A2D', 'T-W'), ('january', 'january'))
    """
    stem = path.name
    while stem.lower().endswith(TABLES):
        stem = stem.rpartition(".")[0]
    place = Place.parse(stem)
    return (place.sensor, place.dataset) if place else (stem, stem)


def files_of_other_sensors(paths: Iterable[Path], sensor: str, because: str) -> tuple[str, ...]:
    """A line for each file that by its name, SENSOR_SITE-SEASON, is of another sensor.

    >>> paths = [Path("5CB6_T-W.csv"), Path("5A2D_C-S.csv"), Path("x_2024-01.csv")]
    >>> files_of_other_sensors(paths, "5A2D", "--sensor is")
    ('5CB6_T-W.csv: by its name a recording of sensor 5CB6, but --sensor is 5A2D; check the files',)
    """
    named = {path.name: identity(path) for path in paths}
    return tuple(
        f"{name}: by its name a recording of sensor {owner}, but {because} {sensor}; check the files"
        for name, (owner, dataset) in named.items()
        if owner not in (sensor, dataset) and dataset[0].isalpha()  # 2024-01 is no site and season
    )
