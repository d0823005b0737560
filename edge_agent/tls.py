"""TLS files of this gateway: loaded, loaded again when they change, and when our certificates end."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from edge_agent.core.certificate import expires_ms
from edge_agent.core.errors import BadSettings
from edge_agent.settings import Broker

HEADER, FOOTER = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


class Reloaded(NamedTuple):
    """Files that changed, of the broker in this section of the settings; `reason` if they are bad."""

    section: str
    expires_ms: int | None
    reason: str | None = None


class Certificates:
    """The files of one broker and the context in use; new files serve the next connection."""

    def __init__(self, section: str, broker: Broker, context: ssl.SSLContext) -> None:
        self.section = section
        self.expires_ms = _expires_ms(broker)
        self._broker, self._context = broker, context
        self._stamps = self._look()

    def refresh(self) -> Iterator[Reloaded]:
        """Load files that have changed. While they are bad, the old ones stay in use."""
        stamps = self._look()
        if stamps == self._stamps:
            return
        self._stamps = stamps
        try:
            make_context(self._broker)
            _load(self._broker, self._context)
        except BadSettings as error:
            yield Reloaded(self.section, self.expires_ms, str(error))
        else:
            self.expires_ms = _expires_ms(self._broker)
            yield Reloaded(self.section, self.expires_ms)

    def _look(self) -> list[tuple[int, int, int] | None]:
        return [_stamp(file) for file in _files(self._broker)]


def make_context(broker: Broker) -> ssl.SSLContext:
    """A context with the files of a broker; BadSettings if they do not fit."""
    return _load(broker, None)


def _load(broker: Broker, context: ssl.SSLContext | None) -> ssl.SSLContext:
    try:
        if context is None:
            context = ssl.create_default_context(cafile=broker.ca_file)
        elif broker.ca_file:
            context.load_verify_locations(broker.ca_file)
        if broker.certificate_file and broker.key_file:
            context.load_cert_chain(broker.certificate_file, broker.key_file)
        return context
    except OSError as error:
        sought = isinstance(error, FileNotFoundError)  # which does not name the file
        files = ", ".join(str(file) for file in _files(broker) if not sought or not file.exists())
        expected = "PEM files, and the key of this certificate"
        raise BadSettings(f"{files}: {error.strerror or error}; expected {expected}") from error


def _files(broker: Broker) -> list[Path]:
    return [file for file in (broker.ca_file, broker.certificate_file, broker.key_file) if file]


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_ctime_ns, stat.st_size, stat.st_ino


def _expires_ms(broker: Broker) -> int | None:
    """The end of our own certificate, the first in its file."""
    if broker.certificate_file is None:
        return None
    try:
        text = broker.certificate_file.read_text(encoding="ascii")
        first = text[text.index(HEADER) : text.index(FOOTER)] + FOOTER
        return expires_ms(ssl.PEM_cert_to_DER_cert(first))
    except (OSError, ValueError):
        return None
