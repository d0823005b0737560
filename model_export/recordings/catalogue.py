"""Which recordings there are, of which sensor, site and season: from their names, or from a manifest."""

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
from model_export.recordings import column_names
from model_export.recordings.averaging import Stamp
from model_export.recordings.dataset import Dataset, load, require_trainable, split
from model_export.recordings.tables import Layout

MANIFESTS = ("manifest.csv", "manifest.toml")
COLUMNS = ("path", "sensor", "site", "season")
MORE = ("unit", "gas", "columns", "timezone", "reference")  # may be left out
LONGEST = 200  # bytes of SENSOR_SITE-SEASON: a file of that name with an ending must be possible
TABLES = (".csv", ".parquet", ".gz", ".bz2", ".zip", ".xz")  # endings that are read, in any case
_NAME = re.compile(r"(?P<sensor>.+)_(?P<site>[^_-]+)-(?P<season>[^_.-]+)")
_OPTION = re.compile(r"--(columns|timezone|sensor)")  # of `fit`, named in the reader's advice


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
        """The place that a file's name gives: SENSOR_SITE-SEASON, the endings of tables left aside.

        >>> Place.parse("van-1_left_T-W.csv.gz"), Place.parse("january.csv")
        (Place(sensor='van-1_left', site='T', season='W'), None)
        """
        while name.lower().endswith(TABLES):
            name = name.rpartition(".")[0]
        match = _NAME.fullmatch(name)
        return cls(match["sensor"], match["site"], match["season"]) if match else None


@dataclass(frozen=True, slots=True)
class Entry:
    """A place's files, what its reference measures, and how they are written (as the options of `fit`)."""

    place: Place
    paths: tuple[Path, ...]
    unit: str = "ppm"
    gas: str = "CO"
    columns: Mapping[str, str] = field(default_factory=dict)
    timezone: str | None = None
    reference: Stamp = "auto"


@dataclass(frozen=True, slots=True)
class Member:
    """A recording read and split: the first windows to learn from, the last to be judged by."""

    place: Place
    gas: str
    train: Dataset
    test: Dataset

    def warmed(self, memories_ms: Mapping[str, int]) -> "Member":
        """The same with the channels that are not measured."""
        return replace(self, train=self.train.warmed(memories_ms), test=self.test.warmed(memories_ms))

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

    @property
    def sensors(self) -> tuple[str, ...]:
        """The sensors that can be used, by name."""
        return tuple(sorted({member.place.sensor for member in self.members}))

    def of(self, sensors: Iterable[str]) -> "Collection":
        """The recordings of some sensors."""
        names = set(sensors)
        return replace(self, members=tuple(one for one in self.members if one.place.sensor in names))

    def busiest(self, count: int) -> tuple[str, ...]:
        """The sensors with the most windows."""
        windows = Counter[str]()
        for member in self.members:
            windows[member.place.sensor] += len(member.train) + len(member.test)
        return tuple(sorted(windows, key=lambda name: (-windows[name], name))[:count])


def find(source: Path) -> tuple[list[Entry], list[Skipped]]:
    """The recordings of a folder or a manifest, and the rows and files that say too little."""
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
    """The place that a file's name gives; None if the file has nothing to do with recordings."""
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


def collect(source: Path, test_share: float = 0.2) -> Collection:
    """Read every recording; one that cannot be used is set aside."""
    entries, skipped = find(source)
    members = []
    for entry in entries:
        try:
            members.append(_read(entry, test_share))
        except RespireError as error:
            skipped.append(Skipped(str(entry.place), _OPTION.sub(r"a manifest's \1", str(error))))
    if not members:
        reasons = "".join(f"; {one.reason}" for one in skipped[:1])
        raise BadRecording(f"{source}: expected recordings such as 5A2D_T-W.csv, got none to use{reasons}")
    return Collection(tuple(members), tuple(skipped))


def _read(entry: Entry, test_share: float) -> Member:
    layout = Layout(entry.columns, entry.timezone)
    dataset = load(entry.paths, entry.place.sensor, entry.unit, layout, reference=entry.reference)
    require_trainable(dataset)
    train, test = split(dataset, test_share)
    require_trainable(train)
    return Member(entry.place, entry.gas, train, test)


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
    )


def _columns(text: str) -> dict[str, str]:
    try:
        return column_names.parse(text)
    except ValueError as error:
        raise BadRecording(f"columns: {error}") from error


def _stamp(text: str) -> Stamp:
    for stamp in get_args(Stamp):
        if text == stamp:
            return cast(Stamp, stamp)
    raise BadRecording(f"reference: expected one of {', '.join(get_args(Stamp))}, got {text!r:.40}")


def require_writable(place: Place) -> None:
    """Refuse names that could not be told apart, or not be written, as SENSOR_SITE-SEASON."""
    for name in ("sensor", "site", "season"):
        text = getattr(place, name)
        if not is_sensor(text):
            raise BadRecording(
                f"{name}: expected 1-64 printable characters without / + #, got {text!r:.80}; rename it"
            )
        if name != "sensor" and set(text) & set("-_"):
            raise BadRecording(
                f"{name}: expected no - or _, which part SENSOR_SITE-SEASON, got {text!r}; rename it"
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
    """One entry a place: a recording may come in several files, if all are written alike."""
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
