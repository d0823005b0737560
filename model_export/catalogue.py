"""Which recordings there are, of which sensor, site and season: from their names, or from a manifest."""

import csv
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edge_agent.errors import BadRecording, RespireError
from edge_agent.messages import is_sensor
from model_export.dataset import Dataset, load, require_trainable, split

MANIFESTS = ("manifest.csv", "manifest.toml")
COLUMNS = ("path", "sensor", "site", "season")
_NAME = re.compile(r"(?P<sensor>.+)_(?P<site>[^_-]+)-(?P<season>[^_.-]+)\.(csv|csv\.gz|parquet)")
_TABLES = (".csv", ".csv.gz", ".parquet")


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


@dataclass(frozen=True, slots=True)
class Entry:
    """A place's files, and what its reference measures."""

    place: Place
    paths: tuple[Path, ...]
    unit: str = "ppm"
    gas: str = "CO"


@dataclass(frozen=True, slots=True)
class Member:
    """A recording read and split: the first windows to learn from, the last to be judged by."""

    place: Place
    gas: str
    train: Dataset
    test: Dataset

    def comparable(self, other: "Member") -> bool:
        """Whether a model of one could be asked about the other: same gas, unit and channels."""
        mine, theirs = self.train, other.train
        return (self.gas, mine.unit, mine.channels) == (other.gas, theirs.unit, theirs.channels)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A recording that could not be used, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Collection:
    """All recordings that could be read, and those that could not."""

    members: tuple[Member, ...]
    skipped: tuple[Skipped, ...]


def find(source: Path) -> tuple[list[Entry], list[Skipped]]:
    """The recordings of a folder or a manifest, and the files whose names say nothing."""
    manifest = _manifest(source)
    if manifest is not None:
        return _merged(_listed(manifest)), []
    if not source.is_dir():
        raise BadRecording(f"{source}: expected a folder or a manifest (.csv, .toml), got neither")
    entries, skipped = [], []
    for path in sorted(path for path in source.iterdir() if path.name.endswith(_TABLES)):
        if match := _NAME.fullmatch(path.name):
            entries.append(Entry(Place(match["sensor"], match["site"], match["season"]), (path,)))
        else:
            reason = f"{path.name}: expected a name such as 5A2D_T-W.csv; rename it or list it in a manifest"
            skipped.append(Skipped(path.name, reason))
    return _merged(entries), skipped


def collect(source: Path, test_share: float = 0.2, sensors: int | None = None) -> Collection:
    """Read every recording, of the first few sensors if so asked; one that cannot be used is set aside."""
    entries, skipped = find(source)
    first = sorted({entry.place.sensor for entry in entries})[:sensors]
    members = []
    for entry in entries:
        if entry.place.sensor in first:
            try:
                members.append(_read(entry, test_share))
            except RespireError as error:
                skipped.append(Skipped(str(entry.place), str(error)))
    if not members:
        reasons = "".join(f"; {one.reason}" for one in skipped[:1])
        raise BadRecording(f"{source}: expected recordings such as 5A2D_T-W.csv, got none to use{reasons}")
    return Collection(tuple(members), tuple(skipped))


def _read(entry: Entry, test_share: float) -> Member:
    dataset = load(entry.paths, entry.place.sensor, entry.unit)
    require_trainable(dataset)
    train, test = split(dataset, test_share)
    require_trainable(train)
    return Member(entry.place, entry.gas, train, test)


def _manifest(source: Path) -> Path | None:
    if source.is_file():
        return source
    return next((source / name for name in MANIFESTS if (source / name).is_file()), None)


def _listed(manifest: Path) -> Iterator[Entry]:
    """The entries of a manifest; their paths start from its folder."""
    rows = _toml_rows(manifest) if manifest.suffix == ".toml" else _csv_rows(manifest)
    for number, row in enumerate(rows, 1):
        where = f"{manifest.name}: recording {number}"
        missing = [column for column in COLUMNS if not isinstance(row.get(column), str) or not row[column]]
        if missing:
            raise BadRecording(
                f"{where}: expected {', '.join(COLUMNS)}, got no {', '.join(missing)}; add them"
            )
        if strange := [name for name in COLUMNS[1:] if not is_sensor(row[name])]:
            raise BadRecording(f"{where}: {strange[0]}: expected 1-64 printable characters without / + #")
        extras = {name: row[name] for name in ("unit", "gas") if row.get(name)}
        path = manifest.parent / row["path"]
        yield Entry(Place(row["sensor"], row["site"], row["season"]), (path,), **extras)


def _csv_rows(manifest: Path) -> Sequence[Mapping[str, Any]]:
    try:
        with manifest.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadRecording(f"{manifest.name}: expected a CSV manifest, got {error}") from error


def _toml_rows(manifest: Path) -> Sequence[Mapping[str, Any]]:
    try:
        rows = tomllib.loads(manifest.read_text(encoding="utf-8")).get("recording", [])
    except (OSError, ValueError) as error:
        raise BadRecording(f"{manifest.name}: expected a TOML manifest, got {error}") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadRecording(f"{manifest.name}: expected tables [[recording]], got {rows!r:.60}")
    return rows


def _merged(entries: Iterable[Entry]) -> list[Entry]:
    """One entry a place: a recording may come in several files."""
    found: dict[Place, Entry] = {}
    for entry in entries:
        known = found.get(entry.place)
        if known and (known.unit, known.gas) != (entry.unit, entry.gas):
            raise BadRecording(f"{entry.place}: expected one unit and gas, got {known.gas} and {entry.gas}")
        paths = (*known.paths, *entry.paths) if known else entry.paths
        found[entry.place] = Entry(entry.place, paths, entry.unit, entry.gas)
    return [found[place] for place in sorted(found)]
