"""Whose recording a file is: sensor, site and season in its name."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import is_sensor
from model_export.recordings.recording import Recording

LONGEST = 200  # bytes of SENSOR_SITE-SEASON, so that it can be the name of a file with an ending
TABLES = (".csv", ".parquet", ".gz", ".bz2", ".zip", ".xz")  # endings, in lower or upper case
_NAME = re.compile(r"(?P<sensor>.+)_(?P<site>[^_-]+)-(?P<season>[^_.-]+)")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One sensor at one site in one season."""

    sensor: str
    site: str
    season: str

    @property
    def dataset(self) -> str:
        """SITE-SEASON, such as T-W."""
        return f"{self.site}-{self.season}"

    def __str__(self) -> str:
        return f"{self.sensor}_{self.dataset}"

    @classmethod
    def parse(cls, name: str) -> "Place | None":
        """The place in a file name SENSOR_SITE-SEASON, with or without the ending of a table.

        >>> Place.parse("van-1_left_T-W.csv.gz"), Place.parse("january.csv")
        (Place(sensor='van-1_left', site='T', season='W'), None)
        """
        match = _NAME.fullmatch(_stem(name))
        return cls(match["sensor"], match["site"], match["season"]) if match else None


def identity(path: Path) -> tuple[str, str]:
    """The sensor and dataset in a file name SENSOR_SITE-SEASON; otherwise its stem for both.

    >>> identity(Path("co/5A2D_T-W.csv")), identity(Path("january.csv.gz"))
    (('5A2D', 'T-W'), ('january', 'january'))
    """
    place, stem = Place.parse(path.name), _stem(path.name)
    return (place.sensor, place.dataset) if place else (stem, stem)


def dataset_of(recording: Recording) -> str:
    """The dataset in the name of a recording's first file."""
    return _identity_of(recording)[1]


def _identity_of(recording: Recording) -> tuple[str, str]:
    """That of its first file; the name of several is such as may.csv and 1 more."""
    return identity(Path(re.sub(r" and \d+ more$", "", recording.name)))


def files_of_other_sensors(paths: Iterable[Path], sensor: str, because: str) -> tuple[str, ...]:
    """A line for each file whose name, SENSOR_SITE-SEASON, has another sensor.

    >>> paths = [Path("5CB6_T-W.csv"), Path("5A2D_C-S.csv"), Path("x_2024-01.csv")]
    >>> files_of_other_sensors(paths, "5A2D", "--sensor is")
    ('5CB6_T-W.csv: its name says sensor 5CB6, but --sensor is 5A2D; check the files',)
    """
    named = {path.name: identity(path) for path in paths}
    return tuple(
        f"{name}: its name says sensor {owner}, but {because} {sensor}; check the files"
        for name, (owner, dataset) in named.items()
        # In x_2024-01.csv, 2024-01 is a date, not a site and a season.
        if owner not in (sensor, dataset) and dataset[0].isalpha()
    )


def of_another_sensor(recording: Recording, sensor: str) -> tuple[str, ...]:
    """A line if a recording is of another sensor than a bundle; a file such as may.csv does not name one."""
    owner, dataset = _identity_of(recording)
    unknown = recording.sensor == owner and (owner == dataset or not dataset[0].isalpha())
    if recording.sensor == sensor or unknown:
        return ()
    words = f"its sensor is {recording.sensor}, but the bundle is for {sensor}; check the files"
    return (f"{recording.name}: {words}",)


def require_writable(place: Place) -> None:
    """Refuse names that SENSOR_SITE-SEASON cannot hold."""
    for name in ("sensor", "site", "season"):
        text = getattr(place, name)
        if not is_sensor(text):
            raise BadRecording(
                f"{name}: expected 1-64 printable characters without / + #, got {text!r:.80}; rename it"
            )
        if name != "sensor" and set(text) & set("-_"):
            raise BadRecording(
                f"{name}: expected no - or _, the separators of SENSOR_SITE-SEASON, got {text!r}; rename it"
            )
    if (length := len(str(place).encode())) > LONGEST:
        raise BadRecording(
            f"expected sensor, site and season of at most {LONGEST} bytes, got {length}; shorten them"
        )


def _stem(name: str) -> str:
    while name.lower().endswith(TABLES):
        name = name.rpartition(".")[0]
    return name
