"""What is computed from estimates and goes the same way: into the journal, then out, with revisions."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from edge_agent.core.messages import format_time

SEPARATOR = "/"  # in the name of a derived series: no sensor has it in its name
VERSION = frozenset(("seq", "revision", "supersedes", "cause", "status"))  # says nothing of the air


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived(ABC):
    """One message of a derived series, for the time from start to end; with the series, start is the key."""

    start_ms: int
    end_ms: int
    gas: str | None
    agent: str
    status: str  # `final` or `preliminary`
    seq: int = 0
    revision: int = 0  # a higher one replaces a lower one
    supersedes: int | None = None
    cause: str | None = None

    @property
    @abstractmethod
    def series(self) -> str:
        """The name under which the journal has it."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """The map of the wire contract."""

    def version(self) -> dict[str, Any]:
        """The part of the map that every series has: when, and which version."""
        return {
            "start": format_time(self.start_ms),
            "end": format_time(self.end_ms),
            "seq": self.seq,
            "revision": self.revision,
            "supersedes": self.supersedes,
            "cause": self.cause,
            "status": self.status,
        }

    def encode(self, seq: int) -> bytes:
        """As JSON, with a sequence number."""
        record = replace(self, seq=seq).record()
        return json.dumps(record, separators=(",", ":"), allow_nan=False).encode()

    def says_the_same(self, record: Mapping[str, Any]) -> bool:
        """Whether a message that was published before says the same of the air."""
        return content(self.record()) == content(record)

    def replacing(self, revision: int, cause: str) -> Self:
        """The same as the next revision."""
        return replace(self, revision=revision + 1, supersedes=revision, cause=cause)


def content(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a message says of the air, and not of its version."""
    return {name: value for name, value in record.items() if name not in VERSION}
