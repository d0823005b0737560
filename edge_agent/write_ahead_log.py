"""How much of SQLite's write-ahead log SQLite did not take: it drops all after the first damaged frame.

The format is https://www.sqlite.org/fileformat2.html#walformat.
"""

import struct
from pathlib import Path

HEADER, FRAME_HEADER = 32, 24


def commits(log: Path) -> list[int]:
    """The numbers, from 1, of the frames that end a transaction; -1 first if the header is damaged."""
    try:
        content = log.read_bytes()
    except OSError:
        return []
    if len(content) <= HEADER:
        return []
    if not _header_is_sound(content[:HEADER]):
        return [-1]
    [page_size] = struct.unpack_from(">I", content, 8)
    size = FRAME_HEADER + page_size
    return [
        1 + (place - HEADER) // size
        for place in range(HEADER, len(content) - size + 1, size)
        if content[place + 8 : place + 16] == content[16:24] and any(content[place + 4 : place + 8])
    ]


def lost(ends: list[int], accepted: int) -> bool:
    """Whether damage, and no power cut, is why SQLite accepted only so many frames.

    A power cut can tear the last transaction, which nobody was told of. It cannot tear two.
    """
    return ends[:1] == [-1] or sum(end > accepted for end in ends) >= 2


def _header_is_sound(header: bytes) -> bool:
    magic, *_ = struct.unpack(">I", header[:4])
    if magic not in (0x377F0682, 0x377F0683):
        return False
    words = struct.unpack((">" if magic & 1 else "<") + "6I", header[:24])
    first = second = 0
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return (first, second) == struct.unpack(">2I", header[24:])
