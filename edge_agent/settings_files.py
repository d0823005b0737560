"""Settings files: one TOML file and those of the folder beside it, merged; each key remembers its file."""

import tomllib
from pathlib import Path
from typing import Any

from edge_agent.core.errors import BadSettings

MAX_BYTES = 65_536


class Merged:
    """The tables of several files as one; a later file overrides an earlier one key by key."""

    def __init__(self, file: Path, needed: bool) -> None:
        """`edge-agent.toml`, which may be missing unless it is needed, then `edge-agent.d/*.toml` by name."""
        self.table: dict[str, Any] = {}
        self._set_by: dict[tuple[str, ...], Path] = {}
        for each in (*([file] if needed or file.exists() else []), *_inside(file.with_suffix(".d"))):
            self._merge(_read(each), each)

    def source(self, place: tuple[int | str, ...]) -> str:
        """The file that set a key last, or anything in the table that holds it."""
        keys = tuple(str(part) for part in place)
        prefixes = (keys[:end] for end in range(len(keys), -1, -1))
        return str(next((self._set_by[each] for each in prefixes if each in self._set_by), "settings"))

    def _merge(self, other: dict[str, Any], file: Path) -> None:
        self._set_by[()] = file
        for key, value in other.items():
            self._set_by[(key,)] = file
            if isinstance(value, dict) and isinstance(table := self.table.setdefault(key, {}), dict):
                table |= value
                self._set_by |= {(key, inner): file for inner in value}
            else:
                self.table[key] = value


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if each.suffix == ".toml" and each.name[0] != ".")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise BadSettings(f"{folder}: {error.strerror}; expected a folder of settings files") from error


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            text = stream.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise BadSettings(f"{file}: expected at most {MAX_BYTES} bytes; is this the settings file?")
        return tomllib.loads(text.decode("utf-8-sig"))  # Windows may begin a file with a mark
    except PermissionError as error:
        raise BadSettings(f"{file}: {error.strerror}; try sudo") from error
    except OSError as error:
        raise BadSettings(f"{file}: {error.strerror}; expected a settings file") from error
    except (ValueError, RecursionError) as error:
        expected = "TOML in UTF-8, texts in quotes and each key once"
        raise BadSettings(f"{file}: {error}; expected {expected}") from error
