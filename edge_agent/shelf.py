"""The directory of bundles on this gateway, one for each sensor."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from edge_agent.core import bundle
from edge_agent.core.errors import BadBundle
from edge_agent.core.model import Model

SUFFIX = ".bundle"

Stamp = tuple[int, int, int]  # when a file or its permissions were changed, its size and inode


class News(NamedTuple):
    """What became of one file since last looked; `problem` where it was refused."""

    file: Path
    sensor: str | None
    model: Model | None
    problem: str | None = None


class Shelf:
    """The models of a directory (or of one file); a bad bundle never replaces a good one."""

    def __init__(self, path: Path) -> None:
        """Load everything; here a bad bundle is an error, because somebody is watching."""
        self._path = path
        self._stamps: dict[Path, Stamp] = {}
        self._models: dict[Path, Model] = {}
        self._unreadable = False
        for news in self.refresh():
            if news.problem:
                raise BadBundle(news.problem)

    @property
    def models(self) -> dict[str, Model]:
        """The model of every sensor that has a bundle."""
        return {model.sensor: model for model in self._models.values()}

    def refresh(self) -> list[News]:
        """Take in files that are new or altered, and let go of those that are gone.

        A directory that cannot be read, as while it is being replaced, is told once and changes nothing.
        """
        try:
            found = _stamps(self._path)
        except BadBundle as error:
            told, self._unreadable = self._unreadable, True
            return [] if told else [News(self._path, None, None, str(error))]
        self._unreadable = False
        gone = [News(file, model.sensor, None) for file, model in self._models.items() if file not in found]
        for news in gone:
            del self._models[news.file]
        changed = [
            file
            for file, stamp in found.items()
            if self._stamps.get(file) != stamp or (gone and file not in self._models)  # may have been second
        ]
        self._stamps = found
        return gone + [news for file in changed for news in self._take(file)]

    def _take(self, file: Path) -> list[News]:
        try:
            model = read(file)
            self._refuse_second(file, model.sensor)
        except BadBundle as error:
            return [News(file, None, None, str(error))]
        before = self._models.get(file, model)
        self._models[file] = model
        given_up = [News(file, before.sensor, None)] if before.sensor != model.sensor else []
        return [*given_up, News(file, model.sensor, model)]

    def _refuse_second(self, file: Path, sensor: str) -> None:
        for other, model in self._models.items():
            if model.sensor == sensor and other != file:
                both = f"{other.name} and {file.name}"
                raise BadBundle(
                    f"{self._path}: expected one bundle for sensor {sensor}, got {both}; remove one"
                )


def read(file: Path) -> Model:
    """The model in one file; no more of it is read than a bundle may have."""
    try:
        with file.open("rb") as stream:
            data = stream.read(bundle.MAX_BYTES + 1)
    except OSError as error:
        raise BadBundle(f"{file}: {error.strerror}; expected a bundle written by model-export") from error
    return bundle.decode(data, str(file))


def _stamps(path: Path) -> dict[Path, Stamp]:
    """The bundle files by name; hidden ones are being written."""
    try:
        files = [path] if path.is_file() else sorted(path.iterdir())
    except OSError as error:
        raise BadBundle(f"{path}: {error.strerror}; expected a directory of {SUFFIX} files") from error
    stamps = {}
    for file in files:
        if file == path or (file.suffix == SUFFIX and not file.name.startswith(".")):
            with suppress(FileNotFoundError):
                stat = file.stat()
                stamps[file] = stat.st_ctime_ns, stat.st_size, stat.st_ino
    return stamps
