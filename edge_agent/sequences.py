"""The sequence numbers beside the journal, in a small file of their own: they outlive a damaged journal."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from zlib import crc32

FILE = "sequences"

States = dict[str, tuple[int, int]]  # sensor -> closed_until_ms, seq


class Sequences:
    """One line of JSON and its checksum; written after every commit that closes a window."""

    def __init__(self, directory: Path, durable: bool) -> None:
        """`durable` if the file must survive a power cut."""
        self.path = directory / FILE
        self._durable = durable

    def read(self) -> tuple[States, str]:
        """The numbers, and what is wrong with the file; a missing one has no numbers."""
        try:
            text, checksum = self.path.read_bytes().split(b"\n")[:2]
            if int(checksum, 16) != crc32(text):
                raise ValueError("wrong checksum")
            return {name: (closed_ms, seq) for name, (closed_ms, seq) in json.loads(text).items()}, ""
        except FileNotFoundError:
            return {}, ""
        except (OSError, ValueError) as error:
            return {}, f"{self.path}: {error}"

    def written_ms(self) -> int:
        """When the file was last written; 0 if there is none."""
        try:
            return int(self.path.stat().st_mtime * 1000)
        except OSError:
            return 0

    def write(self, states: Mapping[str, tuple[int, int]]) -> None:
        """Replace the file at once; without room the old one stays, and the journal has the numbers."""
        text = json.dumps(states, separators=(",", ":")).encode()
        new = self.path.with_suffix(".new")
        with suppress(OSError):
            with new.open("wb") as file:
                file.write(b"%s\n%08x\n" % (text, crc32(text)))
                if self._durable:
                    file.flush()
                    os.fsync(file.fileno())
            new.replace(self.path)
