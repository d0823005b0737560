"""The rows on health, and on what was counted."""

from importlib.metadata import version
from itertools import pairwise
from statistics import median
from typing import Any

from edge_agent.core.messages import format_time, parse_time
from edge_agent.core.problems import ADVICE
from tests.docs.laws import Law, Pair, Record, beside, each, places
from tests.support.contract import MODELS, OLD_MS, Session
from tests.support.contract_sent import ALONE, MINUTE_MS, REFERENCE

COUNTS = {
    "duplicate": 1 + 3,  # a retained reading, and a message that was sent twice
    "too_late": 1,
    "revising": 2 * 10 * 3,
    "future": 1,
    "excess": 10,
    "rejected": 3,
    "refused": 1,
}
PROBLEMS = {("calibration_old", "5CB6"), ("stuck_channel", "0000")}


def _all(told: Session) -> list[Record]:
    return told.of("health")


def _served(told: Session) -> Record:
    """The last record with all bundles."""
    record: Record = [h for h in told.of("health") if h["bundles"]["loaded"] == len(MODELS)][-1]
    return record


def _sensor(name: str, expected: dict[str, Any]) -> Law:
    """A field of some sensors."""
    return lambda told: ({s: _served(told)["sensors"][s][name] for s in expected}, expected)


def _count(outcome: str) -> Law:
    return lambda told: (told.counts[outcome], COUNTS[outcome])


def _elapsed(told: Session) -> Pair:
    first, last = told.of("health")[0], told.of("health")[-1]
    passed_s = (parse_time(last["at"]) - parse_time(first["at"])) / 1000
    return abs(last["uptime_s"] - first["uptime_s"] - passed_s) <= 2.0, True  # whole seconds


def _times_ms(told: Session) -> list[int]:
    return [parse_time(h["at"]) for h in told.of("health")]


def _interval(told: Session) -> Pair:
    """Usually; a connection has a record at once, and a busy machine one later."""
    apart_ms = [after - before for before, after in pairwise(_times_ms(told))]
    return ({h["interval_s"] for h in told.of("health")}, median(apart_ms) >= 195), ({0.2}, True)


def _accepted(told: Session) -> Pair:
    """All the journal has of a sensor: what was sent of 5092 is in its windows."""
    windows = told.estimates("5092")
    return sum(e["minutes"].get("op1", 0) for e in windows if e["value"] is not None), 15 * len(windows)


def _since(told: Session) -> Pair:
    """The time of the first record that has the problem."""
    first: dict[tuple[str, str], str] = {}
    for record in told.of("health"):
        for problem in record["problems"]:
            first.setdefault((problem["code"], problem["sensor"]), record["at"])
    found = {(p["code"], p["sensor"]): p["since"] for p in _served(told)["problems"]}
    return found, {problem: first[problem] for problem in found}


OUTCOMES: dict[str, Law] = {"accepted": _accepted, **{outcome: _count(outcome) for outcome in COUNTS}}
FIELDS: dict[str, Law] = {
    "v": each(_all, lambda _, h: (h["v"], 1)),
    "agent": each(_all, lambda _, h: (h["agent"], "van-1")),
    "version": each(_all, lambda _, h: (h["version"], version("respire-edge"))),
    "at": lambda told: (_times_ms(told), sorted(_times_ms(told))),
    "interval_s": _interval,
    "uptime_s": _elapsed,
    "clock": each(_all, lambda _, h: (h["clock"], "synchronised")),
    "readings": lambda told: ({k: told.counts[k] for k in COUNTS}, COUNTS),
    "outbox": lambda told: (told.health["outbox"], {"depth": 0, "oldest_s": None, "dropped": 0}),
    "bundles": lambda told: (
        [
            (h["bundles"]["loaded"], h["bundles"]["refused"], len(h["bundles"]["reasons"]))
            for h in (_served(told), told.health)
        ],
        [(len(MODELS), 1, 1), (len(MODELS) - 1, 1, 1)],
    ),
    "sensors": lambda told: ({*_served(told)["sensors"]}, {*MODELS, "0000", "FORM"}),
    "sensors_unlisted": lambda told: (told.health["sensors_unlisted"], 0),
    "position": lambda told: ({*told.health["position"]}, {*POSITION}),
    "reference": lambda told: ({*told.health["reference"]}, {*REFERENCE_FIELDS}),
    "certificates": lambda told: (told.health["certificates"], {}),
    "journal_bytes": lambda told: (
        told.health["journal_bytes"] > sum(len(m.payload) for m in told.messages if m.topic.endswith("/co")),
        True,
    ),
    "rss_bytes": lambda told: (20e6 < told.health["rss_bytes"] < 200e6, True),
    "written_bytes": lambda told: (
        [h["written_bytes"] for h in _all(told)],
        sorted(h["written_bytes"] for h in _all(told)),
    ),
    "problems": lambda told: ({(p["code"], p["sensor"]) for p in _served(told)["problems"]}, PROBLEMS),
}
OUTBOX: dict[str, Law] = {
    "depth": lambda told: (told.health["outbox"]["depth"], 0),
    "oldest_s": each(_all, lambda _, h: (h["outbox"]["oldest_s"] is None, h["outbox"]["depth"] == 0)),
    "dropped": each(_all, lambda _, h: (h["outbox"]["dropped"], 0)),
}
SENSOR: dict[str, Law] = {
    "model": _sensor("model", {"5A2D": MODELS["5A2D"].id, "QUIET": MODELS["QUIET"].id, "0000": None}),
    "valid_until": _sensor("valid_until", {"5CB6": format_time(OLD_MS), "5A2D": None, "0000": None}),
    "last_reading": lambda told: (
        [_served(told)["sensors"][name]["last_reading"] for name in ("D3EB", "QUIET")],
        [format_time(told.base_ms + ALONE * 15 * MINUTE_MS + 5_000), None],
    ),
    "silent": _sensor("silent", {"QUIET": ["op1", "op2", "temperature"], "5A2D": [], "0000": []}),
    "stuck": _sensor("stuck", {"0000": ["op1"], "5A2D": [], "QUIET": []}),
    "suspected": _sensor("suspected", {"5A2D": [], "0000": []}),
}
POSITION: dict[str, Law] = {
    "source": lambda told: (told.health["position"]["source"], "van/position"),
    "at": lambda told: (told.health["position"]["at"], places.newest_at(told)),
    "age_s": lambda told: (
        told.health["position"]["age_s"],
        (parse_time(told.health["at"]) - parse_time(places.newest_at(told))) // 1000,
    ),
    "site": lambda told: (told.health["position"]["site"], "T"),
    "fixes": lambda told: (told.health["position"]["fixes"], places.COUNTS),
}
REFERENCE_FIELDS: dict[str, Law] = {
    "topic": lambda told: (told.health["reference"]["topic"], "reference/{gas}"),
    "last_reading": lambda told: (
        told.health["reference"]["last_reading"],
        format_time(told.base_ms + min(REFERENCE) * MINUTE_MS + 1),
    ),
    "readings": lambda told: (told.health["reference"]["readings"], beside.COUNTS),
    "scores": lambda told: (
        told.health["reference"]["scores"],
        {
            "5A2D": {
                n: beside.score(told)[n] for n in ("windows", "bias", "unit", "r2", "coverage", "level", "to")
            }
        },
    ),
}
PROBLEM: dict[str, Law] = {
    "code": lambda told: ({p["code"] for p in _served(told)["problems"]}, {code for code, _ in PROBLEMS}),
    "since": _since,
    "sensor": lambda told: ({p["sensor"] for p in _served(told)["problems"]}, {s for _, s in PROBLEMS}),
    "advice": lambda told: (
        {p["advice"] for p in _served(told)["problems"]},
        {ADVICE[code] for code, _ in PROBLEMS},
    ),
}
