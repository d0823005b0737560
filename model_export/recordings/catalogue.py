"""Recordings and their sensor, site and season, by the names of the files or by a manifest."""

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast, get_args

from edge_agent.core.errors import BadRecording, RespireError
from edge_agent.core.messages import is_sensor
from edge_agent.core.windows import WINDOW_MS
from model_export.recordings.dataset import (
    Dataset,
    SensorType,
    Stamp,
    load,
    parse_window,
    require_trainable,
    split,
)
from model_export.recordings.recording import Recording
from model_export.recordings.tables import Layout, parse_columns

MANIFESTS = ("manifest.csv", "manifest.toml")
COLUMNS = ("path", "sensor", "site", "season")
MORE = ("unit", "gas", "columns", "timezone", "reference", "window", "sensor_type")  # optional
LONGEST = 200  # bytes of SENSOR_SITE-SEASON, so that it can be the name of a file with an ending
TABLES = (".csv", ".parquet", ".gz", ".bz2", ".zip", ".xz")  # endings, in lower or upper case
_NAME = re.compile(r"(?P<sensor>.+)_(?P<site>[^_-]+)-(?P<season>[^_.-]+)")
_OPTION = re.compile(r"--(columns|timezone|sensor)")  # of `fit`, as the messages of tables.py name them


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


@dataclass(frozen=True, slots=True)
class Entry:
    """The files of a place, and how to read them (the options of `fit`)."""

    place: Place
    paths: tuple[Path, ...]
    unit: str = "ppm"
    gas: str = "CO"
    columns: Mapping[str, str] = field(default_factory=dict)
    timezone: str | None = None
    reference: Stamp = "auto"
    window: int | None = None  # ms; None: as for all
    sensor_type: SensorType | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A recording's windows, split: the first to fit to, the last to test on."""

    place: Place
    gas: str
    train: Dataset
    test: Dataset
    sensor_type: SensorType = "electrochemical"

    def warmed(self, memories_ms: Mapping[str, int]) -> "Member":
        """The same with channels for warming, see `Dataset.warmed`."""
        return replace(self, train=self.train.warmed(memories_ms), test=self.test.warmed(memories_ms))

    def comparable(self, other: "Member") -> bool:
        """Whether a model fitted to one can be used on the other: same gas, unit, channels, windows, type."""
        mine, theirs = self.train, other.train
        own = self.gas, mine.unit, mine.channels, mine.window_ms, self.sensor_type
        return own == (other.gas, theirs.unit, theirs.channels, theirs.window_ms, other.sensor_type)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A recording that is not usable, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Collection:
    """All recordings that are usable, and those that are not."""

    members: tuple[Member, ...]
    skipped: tuple[Skipped, ...]

    @property
    def sensors(self) -> tuple[str, ...]:
        """The names of all sensors, sorted."""
        return tuple(sorted({member.place.sensor for member in self.members}))

    def of(self, sensors: Iterable[str]) -> "Collection":
        """The recordings of some sensors."""
        names = set(sensors)
        return replace(self, members=tuple(one for one in self.members if one.place.sensor in names))

    def of_gas(self, gas: str) -> "Collection":
        """The recordings of one gas: figures of several gases cannot be compared."""
        return replace(self, members=tuple(one for one in self.members if one.gas == gas))

    def busiest(self, count: int) -> tuple[str, ...]:
        """The sensors with the most windows."""
        windows = Counter[str]()
        for member in self.members:
            windows[member.place.sensor] += len(member.train) + len(member.test)
        return tuple(sorted(windows, key=lambda name: (-windows[name], name))[:count])


def identity(path: Path) -> tuple[str, str]:
    """The sensor and dataset in a file name SENSOR_SITE-SEASON; otherwise its stem for both.

    >>> identity(Path("co/5A2D_T-W.csv")), identity(Path("january.csv.gz"))
    (('5A2D', 'T-W'), ('january', 'january'))
    """
    place, stem = Place.parse(path.name), _stem(path.name)
    return (place.sensor, place.dataset) if place else (stem, stem)


def dataset_of(recording: Recording) -> str:
    """The dataset in the name of a recording's first file."""
    return identity(Path(recording.name.partition(" and ")[0]))[1]


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


def _stem(name: str) -> str:
    while name.lower().endswith(TABLES):
        name = name.rpartition(".")[0]
    return name


def find(source: Path) -> tuple[list[Entry], list[Skipped]]:
    """The recordings in a folder or a manifest, and the files and rows that cannot be used."""
    manifest = _manifest(source)
    if manifest is not None:
        return _listed(manifest)
    if not source.is_dir():
        raise BadRecording(f"{source}: expected a folder or a manifest (.csv, .toml), got neither")
    found: dict[Place, Entry] = {}
    skipped = []
    for path in sorted(path for path in source.iterdir() if path.is_file()):
        try:
            if place := _named(path):
                _require_alone(path, found.get(place))
                found[place] = Entry(place, (path,))
        except BadRecording as error:
            shown = path.name.encode(errors="backslashreplace").decode()
            skipped.append(Skipped(shown, f"{shown}: {error}"))
    return [found[place] for place in sorted(found)], skipped


def _named(path: Path) -> Place | None:
    """The place in a file name; None for a file that is not a table."""
    place = Place.parse(path.name)
    if not path.name.lower().endswith(TABLES):
        if place or Place.parse(path.stem):
            raise BadRecording(f"expected a table ({', '.join(TABLES)}), got {path.suffix or 'no ending'}")
        return None
    if place is None:
        raise BadRecording("expected a name such as 5A2D_T-W.csv; rename it or list it in a manifest")
    require_writable(place)
    return place


def _require_alone(path: Path, known: Entry | None) -> None:
    if known:
        raise BadRecording(
            f"expected one file for {known.place}, got {known.paths[0].name} too; "
            "remove one, or list both in a manifest"
        )


def collect(
    source: Path,
    test_share: float = 0.2,
    window_ms: int = WINDOW_MS,
    sensor_type: SensorType = "electrochemical",
) -> Collection:
    """Read every recording; those that are not usable are listed as skipped."""
    entries, skipped = find(source)
    members = []
    for entry in entries:
        try:
            usual = replace(
                entry, window=entry.window or window_ms, sensor_type=entry.sensor_type or sensor_type
            )
            members.append(_read(usual, test_share))
        except RespireError as error:
            skipped.append(Skipped(str(entry.place), _OPTION.sub(r"a manifest's \1", str(error))))
    if not members:
        reasons = "".join(f"; {one.reason}" for one in skipped[:1])
        raise BadRecording(f"{source}: expected recordings such as 5A2D_T-W.csv, got none to use{reasons}")
    return Collection(tuple(members), tuple(skipped))


def _read(entry: Entry, test_share: float) -> Member:
    layout = Layout(entry.columns, entry.timezone)
    owner, stamp = entry.place.sensor, entry.reference
    dataset = load(
        entry.paths, owner, entry.unit, layout, reference=stamp, window_ms=entry.window or WINDOW_MS
    )
    require_trainable(dataset)
    train, test = split(dataset, test_share)
    require_trainable(train)
    return Member(entry.place, entry.gas, train, test, entry.sensor_type or "electrochemical")


def _manifest(source: Path) -> Path | None:
    if source.is_file():
        return source
    return next((source / name for name in MANIFESTS if (source / name).is_file()), None)


def _listed(manifest: Path) -> tuple[list[Entry], list[Skipped]]:
    """The entries of a manifest, and the rows that cannot be used."""
    rows = _toml_rows(manifest) if manifest.suffix == ".toml" else _csv_rows(manifest)
    found: dict[Place, Entry] = {}
    skipped = []
    for number, row in enumerate(rows, 1):
        try:
            entry = _entry(manifest, row)
            found[entry.place] = _joined(found.get(entry.place), entry)
        except BadRecording as error:
            skipped.append(Skipped(f"recording {number}", f"{manifest.name}: recording {number}: {error}"))
    return [found[place] for place in sorted(found)], skipped


def _entry(manifest: Path, row: Mapping[str, Any]) -> Entry:
    """One row; its path starts from the manifest's folder."""
    if strange := [name for name in (*COLUMNS, *MORE) if not isinstance(row.get(name) or "", str)]:
        name = strange[0]
        raise BadRecording(f"{name}: expected text, got {row[name]!r:.40}; put it in quotes")
    given = {name: str(row.get(name) or "").strip() for name in (*COLUMNS, *MORE)}
    if missing := [name for name in COLUMNS if not given[name]]:
        raise BadRecording(f"expected {', '.join(COLUMNS)}, got no {', '.join(missing)}; add them")
    place = Place(given["sensor"], given["site"], given["season"])
    require_writable(place)
    return Entry(
        place,
        (manifest.parent / given["path"],),
        given["unit"] or "ppm",
        given["gas"] or "CO",
        _columns(given["columns"]),
        given["timezone"] or None,
        _stamp(given["reference"] or "auto"),
        _window(given["window"]) if given["window"] else None,
        _sensor_type(given["sensor_type"]) if given["sensor_type"] else None,
    )


def _columns(text: str) -> dict[str, str]:
    try:
        return parse_columns(text)
    except ValueError as error:
        raise BadRecording(f"columns: {error}") from error


def _stamp(text: str) -> Stamp:
    for stamp in get_args(Stamp):
        if text == stamp:
            return cast(Stamp, stamp)
    raise BadRecording(f"reference: expected one of {', '.join(get_args(Stamp))}, got {text!r:.40}")


def _window(text: str) -> int:
    try:
        return parse_window(text)
    except ValueError as error:
        raise BadRecording(f"window: {error}") from error


def _sensor_type(text: str) -> SensorType:
    for known in get_args(SensorType):
        if text == known:
            return cast(SensorType, known)
    raise BadRecording(f"sensor_type: expected one of {', '.join(get_args(SensorType))}, got {text!r:.40}")


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


def _csv_rows(manifest: Path) -> Sequence[Mapping[str, Any]]:
    try:
        with manifest.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file, skipinitialspace=True)
            return [{str(name).strip(): value for name, value in row.items()} for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadRecording(f"{manifest.name}: expected a CSV manifest, got {error}") from error


def _toml_rows(manifest: Path) -> Sequence[Mapping[str, Any]]:
    try:
        rows = tomllib.loads(manifest.read_text(encoding="utf-8-sig")).get("recording", [])
    except (OSError, ValueError) as error:
        raise BadRecording(f"{manifest.name}: expected a TOML manifest, got {error}") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadRecording(f"{manifest.name}: expected tables [[recording]], got {rows!r:.60}")
    return rows


def _joined(known: Entry | None, entry: Entry) -> Entry:
    """One entry per place: a recording may have several files if they are read with the same options."""
    if known is None:
        return entry
    for name in MORE:
        mine, theirs = getattr(known, name), getattr(entry, name)
        if mine != theirs:
            raise BadRecording(
                f"{name}: expected {mine!r} as in the other rows of {entry.place}, got {theirs!r}; "
                "make them the same"
            )
    return replace(known, paths=(*known.paths, *entry.paths))
