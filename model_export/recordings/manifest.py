"""The recordings in a folder or a manifest: their files, and how to read them."""

import csv
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from edge_agent.core.errors import BadRecording
from edge_agent.core.windows import WINDOW_MS
from model_export.recordings.columns import parse_columns
from model_export.recordings.dataset import SensorType, Stamp
from model_export.recordings.names import TABLES, Place, require_writable
from model_export.recordings.recording import CELL
from model_export.recordings.stamps import parse_window

Value = TypeVar("Value")
MANIFESTS = ("manifest.csv", "manifest.toml")
COLUMNS = ("path", "sensor", "site", "season")
MORE = ("unit", "gas", "columns", "timezone", "reference", "window", "sensor_type")  # optional
ALIKE = 0.85  # of difflib: units and time_zone are typing errors, sensor_id is another column


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

    @property
    def kind(self) -> tuple[str, int, str]:
        """The gas, the length of its windows in ms, and the type of sensor; a bundle is for one kind."""
        return self.gas, self.window or WINDOW_MS, self.sensor_type or CELL


@dataclass(frozen=True, slots=True)
class Skipped:
    """A recording that is not usable, and why."""

    name: str
    reason: str


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


def _manifest(source: Path) -> Path | None:
    if source.is_file():
        return source
    return next((source / name for name in MANIFESTS if (source / name).is_file()), None)


def _listed(manifest: Path) -> tuple[list[Entry], list[Skipped]]:
    """The entries of a manifest, and the rows that cannot be used."""
    rows = _toml_rows(manifest) if manifest.suffix == ".toml" else _csv_rows(manifest)
    _require_spelling(manifest, {name for row in rows for name in row})
    found: dict[Place, Entry] = {}
    skipped = []
    for number, row in enumerate(rows, 1):
        try:
            entry = _entry(manifest, row)
            found[entry.place] = _joined(found.get(entry.place), entry)
        except BadRecording as error:
            skipped.append(Skipped(f"recording {number}", f"{manifest.name}: recording {number}: {error}"))
    return [found[place] for place in sorted(found)], skipped


def _require_spelling(manifest: Path, names: Collection[str]) -> None:
    """Refuse a column such as units or Timezone; a person's own columns, such as remarks, are left out."""
    known = (*COLUMNS, *MORE)
    for name in sorted({*names} - {*known}):
        if meant := get_close_matches(name.lower(), known, 1, ALIKE):
            raise BadRecording(f"{manifest.name}: expected a column {meant[0]}, got {name}; rename it")


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
        _parsed("columns", given["columns"], parse_columns),
        given["timezone"] or None,
        _one_of("reference", given["reference"] or "auto", get_args(Stamp)),
        _parsed("window", given["window"], parse_window) if given["window"] else None,
        _one_of("sensor_type", given["sensor_type"], get_args(SensorType)) if given["sensor_type"] else None,
    )


def _parsed(name: str, text: str, parse: Callable[[str], Value]) -> Value:
    try:
        return parse(text)
    except ValueError as error:
        raise BadRecording(f"{name}: {error}") from error


def _one_of(name: str, text: str, known: tuple[str, ...]) -> Any:
    if text not in known:
        raise BadRecording(f"{name}: expected one of {', '.join(known)}, got {text!r:.40}")
    return text


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
