"""The directory of bundles on this gateway, one per sensor."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from edge_agent.core import bundle
from edge_agent.core.errors import BadBundle
from edge_agent.core.model import Model

SUFFIX = ".bundle"
MAX_TOTAL_BYTES = 4_194_304  # of all bundles; a model in memory has up to four times the size of its file

Stamp = tuple[int, int, int]  # a file's ctime, size and inode


class Update(NamedTuple):
    """What a refresh found in one file; `reason` where it was refused."""

    file: Path
    sensor: str | None
    model: Model | None
    reason: str | None = None


class Bundles:
    """The models of a directory (or of one file); a bad bundle never replaces a good one."""

    def __init__(self, path: Path, strict: bool = True, length_s: int | None = None) -> None:
        """Load everything; `strict` where a person is watching: one bad bundle is an error then.

        Otherwise it is in `refused`, and the others serve. A path that cannot be read is always an error.
        Models for windows of another length than `length_s` are refused; None takes any length.
        """
        self.models: dict[str, Model] = {}
        self.refused: dict[Path, str] = {}  # the reasons, of the files as they are now
        self._path, self._length_s = path, length_s
        self._stamps: dict[Path, Stamp] = {}
        self._loaded: dict[Path, Model] = {}
        self._crowded_out: set[Path] = set()  # refused because of other files
        self._leaving: set[Path] = set()  # files that are about to give the model of another sensor
        self._unreadable = False
        for update in self.refresh():
            if update.reason and (strict or update.file == path):
                raise BadBundle(update.reason)

    def refresh(self) -> list[Update]:
        """Load files that are new or changed, and drop the models of files that are gone.

        A directory that cannot be read, as while it is being replaced, is reported once and changes nothing.
        """
        try:
            found = _stamps(self._path)
        except BadBundle as error:
            reported, self._unreadable = self._unreadable, True
            return [] if reported else [Update(self._path, None, None, str(error))]
        self._unreadable = False
        gone = [Update(file, m.sensor, None) for file, m in self._loaded.items() if file not in found]
        for update in gone:
            del self._loaded[update.file]
        changed = [file for file, stamp in found.items() if self._stamps.get(file) != stamp]
        self._stamps = found
        self.refused = {file: reason for file, reason in self.refused.items() if file in found}
        updates = gone + self._load_all(changed) if gone or changed else []
        if updates:
            self.models.clear()
            self.models.update((model.sensor, model) for model in self._loaded.values())
        # The card of a removed model is removed, and another file may have a model for the same sensor.
        return sorted(updates, key=lambda update: update.model is not None or update.reason is not None)

    def _load_all(self, changed: list[Path]) -> list[Update]:
        self._leaving = {file for file in changed if self._leaves(file)}
        updates = [update for file in changed for update in self._load(file)]
        # Of those that were refused after all, another file may have the old sensor by now.
        for file in {*self._leaving}:
            if self._other(file, self._loaded[file].sensor):
                del self._loaded[file]
        self._leaving.clear()
        # What was refused because of another file can be right now.
        again = [file for file in self._stamps if file in self._crowded_out and file not in changed]
        retried = [update for file in again for update in self._load(file)]
        return updates + [update for update in retried if update.model]

    def _leaves(self, file: Path) -> bool:
        """Whether a changed file has a sound model of another sensor than before."""
        with suppress(BadBundle):
            return file in self._loaded and read(file).sensor != self._loaded[file].sensor
        return False

    def _load(self, file: Path) -> list[Update]:
        self.refused.pop(file, None)
        self._crowded_out.discard(file)
        try:
            model = read(file)
            require_length(file, model, self._length_s)
            self._refuse_excess(file)
            self._refuse_second(file, model.sensor)
        except BadBundle as error:
            self.refused[file] = str(error)
            return [Update(file, None, None, str(error))]
        before = self._loaded.get(file, model)
        self._loaded[file] = model
        self._leaving.discard(file)
        renamed = [Update(file, before.sensor, None)] if before.sensor != model.sensor else []
        return [*renamed, Update(file, model.sensor, model)]

    def _refuse_excess(self, file: Path) -> None:
        total = sum(self._stamps[each][1] for each in {*self._loaded, file})
        if total > MAX_TOTAL_BYTES:
            self._crowded_out.add(file)
            raise BadBundle(f"{file}: expected at most {MAX_TOTAL_BYTES} bytes of bundles, got {total}")

    def _refuse_second(self, file: Path, sensor: str) -> None:
        if other := self._other(file, sensor):
            self._crowded_out.add(file)
            both = f"{other.name} and {file.name}"
            raise BadBundle(f"{self._path}: expected one bundle for sensor {sensor}, got {both}; remove one")

    def _other(self, file: Path, sensor: str) -> Path | None:
        """Another file that gives the model of this sensor, and goes on to."""
        others = (other for other, model in self._loaded.items() if model.sensor == sensor)
        return next((other for other in others if other != file and other not in self._leaving), None)


def require_length(file: Path, model: Model, length_s: int | None) -> None:
    """Refuse a model for other windows: their means spread less or more, and warming has another scale."""
    if length_s is not None and model.window_ms != length_s * 1000:
        trained_s = model.window_ms // 1000
        raise BadBundle(
            f"{file}: trained for windows of {trained_s} s, this agent's have {length_s} s; set "
            f"length_s = {trained_s} under [windows], or fit it with --window {length_s // 60}min"
        )


def read(file: Path) -> Model:
    """The model in one file; a file that is too large for a bundle is not read to its end."""
    try:
        if file.exists() and not file.is_file():
            raise BadBundle(f"{file}: not a file; expected a bundle written by model-export")
        with file.open("rb") as stream:
            data = stream.read(bundle.MAX_BYTES + 1)
    except OSError as error:
        raise BadBundle(f"{file}: {error.strerror}; expected a bundle written by model-export") from error
    return bundle.decode(data, str(file))


def _stamps(path: Path) -> dict[Path, Stamp]:
    """The bundle files; hidden ones are still being written."""
    try:
        files = [path] if path.is_file() else sorted(path.iterdir())
    except OSError as error:
        raise BadBundle(f"{path}: {error.strerror}; expected a directory of {SUFFIX} files") from error
    stamps = {}
    for file in files:
        if file == path or (file.suffix == SUFFIX and not file.name.startswith(".")):
            with suppress(FileNotFoundError):
                stamps[file] = _stamp(file)
    return stamps


def _stamp(file: Path) -> Stamp:
    """Zeros for a file that the disk cannot describe; it is refused when it is read."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        raise
    except OSError:
        return 0, 0, 0
    return stat.st_ctime_ns, stat.st_size, stat.st_ino
