"""How much of SQLite's write-ahead log is lost: SQLite silently drops all after the first damaged frame.

The log's format is https://www.sqlite.org/fileformat2.html#walformat. Its index is the file `-shm`, with the
format https://www.sqlite.org/walformat.html.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO, NamedTuple

HEADER, FRAME_HEADER, INDEX_HEADER = 32, 24, 48
LITTLE_ENDIAN, BIG_ENDIAN = 0x377F0682, 0x377F0683  # how the words of a log are summed up


class Log(NamedTuple):
    """A log and its index before SQLite opens them: then SQLite makes a new index from the sound frames."""

    is_damaged: bool = False  # in its header, at its end, or in the file that it belongs to
    salts: bytes = b""  # each log has its own
    ends: tuple[int, ...] = ()  # the numbers, from 1, of the frames that end a transaction
    committed: int = 0  # the frames that the last process committed; 0 if it is not known

    def has_lost(self, accepted: int, salts: bytes) -> bool:
        """Whether commits are lost, if SQLite accepted only so many frames of the log with these salts.

        SQLite syncs frames before it counts them in the index. So after a power cut the index may count too
        few, but never too many. Two torn transactions are a loss without a count, too: a power cut can tear
        only the last one, which nobody was told of.
        """
        if salts != self.salts:
            return False  # somebody else, such as a person with sqlite3, has merged it meanwhile
        torn = sum(end > accepted for end in self.ends)
        return accepted < self.committed or torn >= 2


def read(path: Path) -> Log:
    """The log of a SQLite file that is not open in this process: closing the index would unlock it."""
    log_salts, frames = b"", 0
    ends: tuple[int, ...] = ()
    with suppress(OSError), _log(path).open("rb") as file:
        header = file.read(HEADER)
        if len(header) == HEADER:
            # SQLite deletes the log of an empty file.
            if not _header_is_sound(header) or not (path.exists() and path.stat().st_size):
                return Log(is_damaged=True)
            log_salts = header[16:24]
            [page_size] = struct.unpack_from(">I", header, 8)
            frames = (file.seek(0, SEEK_END) - HEADER) // (FRAME_HEADER + page_size)
            ends = tuple(_ends(file, FRAME_HEADER + page_size, log_salts))
    # After the log: whoever merges it resets the index first.
    index_salts, committed = _index(path.with_name(path.name + "-shm"))
    if log_salts not in (index_salts, b""):
        committed = 0
    return Log(committed > frames, log_salts, ends, committed)


def salts(path: Path) -> bytes:
    """The salts of the log of a SQLite file, also if it is open; none without a log."""
    with suppress(OSError), _log(path).open("rb") as file:
        header = file.read(HEADER)
        return header[16:24] if len(header) == HEADER else b""
    return b""


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _ends(file: BinaryIO, size: int, salts: bytes) -> Iterator[int]:
    """A frame belongs to this log if it has its salts; behind them are frames of an older one."""
    number = 0
    file.seek(HEADER)
    while len(frame := file.read(16)) == 16:
        number += 1
        _, pages_after_commit, found = struct.unpack(">II8s", frame)
        if pages_after_commit and found == salts:
            yield number
        file.seek(HEADER + number * size)


def _index(path: Path) -> tuple[bytes, int]:
    """The salts of the log that a sound index belongs to, and how many of its frames are committed."""
    with suppress(OSError), path.open("rb") as file:
        header, again = file.read(INDEX_HEADER), file.read(INDEX_HEADER)
        # SQLite writes the header twice: a process that is killed meanwhile leaves two that differ.
        if header == again and len(header) == INDEX_HEADER and _index_is_sound(header):
            return header[32:40], struct.unpack_from("=I", header, 16)[0]
    return b"", 0


def _header_is_sound(header: bytes) -> bool:
    [magic] = struct.unpack(">I", header[:4])
    if magic not in (LITTLE_ENDIAN, BIG_ENDIAN):
        return False
    sums = _sums("<" if magic == LITTLE_ENDIAN else ">", header[:24])
    return sums == struct.unpack(">2I", header[24:])


def _index_is_sound(header: bytes) -> bool:
    return _sums("=", header[:40]) == struct.unpack("=2I", header[40:])


def _sums(byte_order: str, content: bytes) -> tuple[int, int]:
    """SQLite's checksum of pairs of words."""
    words = struct.unpack(f"{byte_order}{len(content) // 4}I", content)
    first = second = 0
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
