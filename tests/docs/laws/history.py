"""The rows on the keys of a request, by the answers to them."""

from edge_agent.core.messages import parse_time
from tests.docs.laws import Law, Pair
from tests.support.contract import Session
from tests.support.contract_sent import FORMS, HOUR_MS


def _starts(told: Session) -> Pair:
    found = [parse_time(answer["estimate"]["start"]) for answer in told.of("response/times")]
    first_ms, last_ms = told.base_ms, told.base_ms + HOUR_MS
    return {first_ms <= start_ms < last_ms for start_ms in found}, {True}


def _numbers(told: Session, id_: str) -> list[int]:
    return [answer["estimate"]["seq"] for answer in told.of(f"response/{id_}")]


KEYS: dict[str, Law] = {
    "id": lambda told: ({answer["id"] for answer in told.of("response/last")}, {"last"}),
    "sensor": lambda told: (
        {answer["estimate"]["sensor"] for answer in told.of("response/last")},
        {"5A2D"},
    ),
    "what": lambda told: (
        [[*told.of(f"response/{id_}")[0]][-1] for id_ in ("last", "readings", "agreed")],
        ["estimate", "reading", "consensus"],
    ),
    "from`, `to": _starts,
    "after_seq": lambda told: (_numbers(told, "after"), [*range(31, len(told.estimates("5A2D")) + 1)]),
    "last": lambda told: (
        (len(_numbers(told, "last")), _numbers(told, "default"), len(told.of("response/readings"))),
        (3, [*range(1, len(told.estimates("5A2D")) + 1)], len(FORMS)),
    ),
}
