"""A disk with a volatile cache, as an NBD server on a socket: what a power cut may do to unflushed writes.

Writes stay in memory until the guest flushes. When the guest dies, each unflushed block is kept, lost or
torn at 512 bytes, at random and in no order. That is all that a disk which honours FLUSH may do.
"""

import os
import random
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BLOCK, SECTOR = 4096, 512
HAS_FLAGS, SEND_FLUSH, SEND_FUA = 1, 4, 8
READ, WRITE, DISCONNECT, FLUSH = 0, 1, 2, 3
FUA = 1
ABORT, INFO, GO, EXPORT_NAME = 2, 6, 7, 1
REPLY_MAGIC = 0x3E889045565A9


@dataclass(frozen=True, slots=True)
class Cut:
    """What one power cut did to the blocks that were not flushed."""

    kept: int
    lost: int
    torn: int


class VolatileDisk:
    """An image file behind a cache; `kill_at_flush` calls back in the middle of the guest's next flush."""

    def __init__(self, image: Path, path: Path, seed: int) -> None:
        self.cuts: list[Cut] = []
        self.address = f"nbd+unix:///?socket={path}"
        self._random = random.Random(seed)
        self._file = os.open(image, os.O_RDWR)
        self._size = os.fstat(self._file).st_size
        self._dirty: dict[int, bytearray] = {}
        self._kill: Callable[[], None] | None = None
        self._settled = threading.Event()
        path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(1)
        threading.Thread(target=self._accept, daemon=True).start()

    def kill_at_flush(self, kill: Callable[[], None], seconds: float) -> None:
        """Cut the power while the guest waits for a flush; return when the disk has settled."""
        self._settled.clear()
        self._kill = kill
        if not self._settled.wait(seconds):
            self._kill = None
            self.settle(kill)

    def settle(self, kill: Callable[[], None]) -> None:
        """Cut the power now."""
        self._settled.clear()
        kill()
        self._settled.wait(30)

    def _accept(self) -> None:
        while True:
            end, _ = self._listener.accept()
            with end:
                try:
                    self._negotiate(end)
                    self._serve(end)
                except (EOFError, ConnectionError):
                    self._cut()
            self._settled.set()

    def _negotiate(self, end: socket.socket) -> None:
        flags = HAS_FLAGS | SEND_FLUSH | SEND_FUA
        end.sendall(b"NBDMAGICIHAVEOPT" + struct.pack("!H", 3))
        _take(end, 4)
        while True:
            _, option, length = struct.unpack("!QII", _take(end, 16))
            _take(end, length)
            if option == EXPORT_NAME:
                end.sendall(struct.pack("!QH", self._size, flags))
                return
            if option in (INFO, GO):
                _reply(end, option, 3, struct.pack("!HQH", 0, self._size, flags))
                _reply(end, option, 1)
                if option == GO:
                    return
            else:
                _reply(end, option, 1 if option == ABORT else 0x80000001)

    def _serve(self, end: socket.socket) -> None:
        while True:
            _, flags, kind, handle, offset, length = struct.unpack("!IHHQQI", _take(end, 28))
            answer = b""
            if kind == WRITE:
                self._write(offset, _take(end, length))
            durable = kind == FLUSH or (kind == WRITE and flags & FUA)
            if durable and self._dirty and self._kill:
                kill, self._kill = self._kill, None
                kill()
                raise EOFError
            if durable or kind == DISCONNECT:
                self._flush()
            if kind == DISCONNECT:
                return
            if kind == READ:
                answer = bytes(self._read(offset, length))
            end.sendall(struct.pack("!IIQ", 0x67446698, 0, handle) + answer)

    def _write(self, offset: int, data: bytes) -> None:
        at = 0
        while at < len(data):
            number, inside = divmod(offset + at, BLOCK)
            size = min(BLOCK - inside, len(data) - at)
            if number not in self._dirty:
                self._dirty[number] = bytearray(os.pread(self._file, BLOCK, number * BLOCK))
            self._dirty[number][inside : inside + size] = data[at : at + size]
            at += size

    def _read(self, offset: int, length: int) -> bytearray:
        data = bytearray(os.pread(self._file, length, offset))
        for number in range(offset // BLOCK, -(-(offset + length) // BLOCK)):
            if block := self._dirty.get(number):
                start, end = max(offset, number * BLOCK), min(offset + length, (number + 1) * BLOCK)
                data[start - offset : end - offset] = block[start - number * BLOCK : end - number * BLOCK]
        return data

    def _flush(self) -> None:
        for number, data in self._dirty.items():
            os.pwrite(self._file, data, number * BLOCK)
        self._dirty.clear()

    def _cut(self) -> None:
        fates = {"kept": 0, "lost": 0, "torn": 0}
        share = self._random.choice((0.0, 0.1, 0.5, 0.9))
        for number, data in self._dirty.items():
            torn = self._random.random() < 0.1
            fate = "torn" if torn else "kept" if self._random.random() < share else "lost"
            fates[fate] += 1
            for sector in range(0, BLOCK, SECTOR):
                if fate == "kept" or (torn and self._random.random() < 0.5):
                    os.pwrite(self._file, data[sector : sector + SECTOR], number * BLOCK + sector)
        self._dirty.clear()
        self.cuts.append(Cut(**fates))


def _take(end: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = end.recv(min(size - len(data), 1 << 20))
        if not more:
            raise EOFError
        data += more
    return bytes(data)


def _reply(end: socket.socket, option: int, kind: int, data: bytes = b"") -> None:
    end.sendall(struct.pack("!QIII", REPLY_MAGIC, option, kind, len(data)) + data)
