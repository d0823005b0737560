"""What each row of docs/mqtt.md means, as a law of the messages of one session."""

from collections.abc import Callable, Iterable
from typing import Any

from edge_agent.core.messages import parse_time
from tests.support.contract import Session

Record = dict[str, Any]
Pair = tuple[object, object]  # what was found, and what the row says
Law = Callable[[Session], Pair]
HALF_WIDTH = 0.12  # of the interval of every model that has one


def each(find: Callable[[Session], Iterable[Record]], pair: Callable[[Session, Record], Pair]) -> Law:
    """A law of every one of some messages, of which there must be one."""

    def law(told: Session) -> Pair:
        pairs = [pair(told, record) for record in find(told)]
        assert pairs
        return [found for found, _ in pairs], [expected for _, expected in pairs]

    return law


def length_s(record: Record) -> float:
    return (parse_time(record["end"]) - parse_time(record["start"])) / 1000


def digits(value: float | None, count: int = 6) -> float | None:
    """Numbers of two computations are compared with so many decimals."""
    return None if value is None else round(value, count) + 0.0


def counted(records: list[Record]) -> Pair:
    """Sequence numbers of a series."""
    return [record["seq"] for record in records], list(range(1, len(records) + 1))


def revised(records: Iterable[Record]) -> Pair:
    """The revisions of each window, which grow by one from 0."""
    seen: dict[str, list[int]] = {}
    for record in records:
        seen.setdefault(record["start"], []).append(record["revision"])
    return list(seen.values()), [list(range(len(revisions))) for revisions in seen.values()]


def replaced(record: Record) -> Pair:
    return record["supersedes"], record["revision"] - 1 if record["revision"] else None
