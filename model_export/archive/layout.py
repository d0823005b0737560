"""The parts of an archive on disk, by the names of their folders.

ARCHIVE/sensor=5A2D/month=2024-02/*.parquet     one sensor a part
ARCHIVE/month=2024-02/*.parquet                 many sensors a part, in a column `sensor`
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import is_sensor

_MONTH = re.compile(r"month=(\d{4})-(\d{1,2})")


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """One month of one sensor, or of many (`sensor` is empty)."""

    sensor: str
    month: str  # 2024-02
    folder: Path

    @property
    def name(self) -> str:
        """The part's folder inside any archive, such as sensor=5A2D/month=2024-02."""
        month = f"month={self.month}"
        return f"sensor={quote(self.sensor, safe='')}/{month}" if self.sensor else month

    @property
    def span_ms(self) -> tuple[int, int]:
        """The first millisecond of the month, and of the next."""
        year, month = map(int, self.month.split("-"))
        return _begin_ms(year, month), _begin_ms(year + month // 12, month % 12 + 1)

    def files(self) -> list[Path]:
        """Its Parquet files by name; hidden ones are still being written."""
        return sorted(path for path in self.folder.glob("*.parquet") if not path.name.startswith((".", "_")))


@dataclass(frozen=True, slots=True)
class Series:
    """Parts that are worked on one after the other, oldest first, and the part before them."""

    parts: tuple[Part, ...]
    before: Part | None = None

    @property
    def name(self) -> str:
        """The sensor, or the month of many."""
        return self.parts[0].sensor or f"month={self.parts[0].month}"


def find(archive: Path) -> tuple[list[Series], dict[str, str]]:
    """The series of an archive, and why some folders cannot be used."""
    if not archive.is_dir():
        raise BadRecording(f"{archive}: expected a folder with sensor=…/month=… or month=…, got no folder")
    folders = [("", folder) for folder in sorted(_folders(archive, "month="))]
    for owner in sorted(_folders(archive, "sensor=")):
        sensor = unquote(owner.name.removeprefix("sensor="))
        folders += [(sensor, folder) for folder in sorted(_folders(owner, "month="))]
    if not folders:
        raise BadRecording(
            f"{archive}: expected folders sensor=5A2D/month=2024-02 or month=2024-02, got none"
        )
    parts, refused = parts_in(folders, archive)
    return [*_many(parts), *_single(parts)], refused


def parts_in(folders: Iterable[tuple[str, Path]], archive: Path) -> tuple[list[Part], dict[str, str]]:
    """The parts by the names of their sensors and folders, those of many sensors first; why some are none."""
    parts, refused = dict[tuple[str, str], Part](), dict[str, str]()
    for sensor, folder in folders:
        name = str(folder.relative_to(archive))
        try:
            part = _part(sensor, folder)
            if twin := parts.get(("", part.month)) or parts.get((sensor, part.month)):
                there = twin.folder.relative_to(archive)
                raise BadRecording(f"expected a month once, got it in {there} too; remove one")
            parts[sensor, part.month] = part
        except BadRecording as error:
            refused[name] = f"{name}: {error}"
    return list(parts.values()), refused


def _part(sensor: str, folder: Path) -> Part:
    match = _MONTH.fullmatch(folder.name)
    if not match or not 1 <= int(match[2]) <= 12 or not 1970 <= int(match[1]) < 2100:
        raise BadRecording("expected a month such as month=2024-02; rename the folder")
    if sensor and not is_sensor(sensor):
        raise BadRecording("expected a sensor of 1-64 printable characters without / + #; rename it")
    return Part(sensor, f"{match[1]}-{int(match[2]):02}", folder)


def _many(parts: Iterable[Part]) -> Iterator[Series]:
    before = None
    for part in sorted(part for part in parts if not part.sensor):
        yield Series((part,), before)
        before = part


def _single(parts: Iterable[Part]) -> Iterator[Series]:
    owned: dict[str, list[Part]] = {}
    for part in sorted(part for part in parts if part.sensor):
        owned.setdefault(part.sensor, []).append(part)
    yield from (Series(tuple(own)) for own in owned.values())


def _folders(parent: Path, prefix: str) -> Iterator[Path]:
    return (path for path in parent.iterdir() if path.is_dir() and path.name.startswith(prefix))


def _begin_ms(year: int, month: int) -> int:
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1000
