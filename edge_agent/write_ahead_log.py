"""How much of SQLite's write-ahead log SQLite did not take: it drops all after the first damaged frame.

The format is https://www.sqlite.org/fileformat2.html#walformat.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO

HEADER, FRAME_HEADER = 32, 24


def commits(log: Path) -> list[int]:
    """The numbers, from 1, of the frames that end a transaction; -1 first if the header is damaged."""
    with suppress(OSError), log.open("rb") as file:
        header = file.read(HEADER)
        if len(header) < HEADER:
            return []
        if not _header_is_sound(header):
            return [-1]
        [page_size] = struct.unpack_from(">I", header, 8)
        return list(_commits(file, FRAME_HEADER + page_size, header[16:24]))
    return []


def _commits(file: BinaryIO, size: int, salts: bytes) -> Iterator[int]:
    """A frame belongs to this log if it has its salts; behind them are frames of an older one."""
    frames = (file.seek(0, SEEK_END) - HEADER) // size
    for number in range(frames):
        file.seek(HEADER + number * size)
        _, pages_after_commit, found = struct.unpack(">II8s", file.read(16))
        if pages_after_commit and found == salts:
            yield number + 1


def lost(ends: list[int], accepted: int) -> bool:
    """Whether damage, and no power cut, is why SQLite accepted only so many frames.

    A power cut can tear the last transaction, which nobody was told of. It cannot tear two.
    """
    return ends[:1] == [-1] or sum(end > accepted for end in ends) >= 2


def _header_is_sound(header: bytes) -> bool:
    [magic] = struct.unpack(">I", header[:4])
    if magic not in (0x377F0682, 0x377F0683):
        return False
    words = struct.unpack((">" if magic & 1 else "<") + "6I", header[:24])
    first = second = 0
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return (first, second) == struct.unpack(">2I", header[24:])
