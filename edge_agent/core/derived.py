"""What is computed from estimates and goes the same way: into the journal, then out, with revisions."""

from collections.abc import Mapping
from typing import Any, Protocol

SEPARATOR = "/"  # in the name of a derived series: no sensor has it in its name
VERSION = frozenset(("seq", "revision", "supersedes", "cause", "status"))  # says nothing of the air


class Derived(Protocol):
    """One message of a derived series, for the time from start to end."""

    @property
    def series(self) -> str:
        """The name under which the journal has it."""

    @property
    def start_ms(self) -> int:
        """With the series the key."""

    @property
    def end_ms(self) -> int:
        """The first moment after it."""

    @property
    def revision(self) -> int:
        """A higher one replaces a lower one."""

    @property
    def status(self) -> str:
        """`final` or `preliminary`."""

    def encode(self, seq: int) -> bytes:
        """The message, as JSON."""


def content(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a message says of the air, and not of its version."""
    return {name: value for name, value in record.items() if name not in VERSION}
