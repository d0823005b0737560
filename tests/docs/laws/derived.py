"""The rows on means and on the consensus, computed once more from the estimates that were published."""

from collections.abc import Callable
from math import isclose
from statistics import stdev
from typing import Any

from tests.docs.laws import Law, Pair, Record, counted, digits, each, length_s, replaced, revised
from tests.docs.laws.places import expected_position, expected_site
from tests.support.contract import MODELS, Session
from tests.support.contract_sent import ALONE, DOUBTS, KINDS, LATE

HOURS = {"1h": 1, "8h": 8}
SERIES = [f"calibrated/5A2D/co/{every}" for every in HOURS]
CONSENSUS = "consensus/co"


def _means(told: Session) -> list[Record]:
    return [mean for topic in SERIES for mean in told.newest(topic).values()]


def _windows(told: Session, mean: Record) -> list[Record]:
    """The newest estimates in the span of a mean."""
    newest, first = told.newest("calibrated/5A2D/co"), told.number(mean["start"])
    places = range(first, first + HOURS[mean["mean"]] * 4)
    return [newest[place] for place in places if place in newest]


def _used(told: Session, mean: Record) -> list[tuple[Record, int]]:
    """The windows with a value that did not fail, each with its minutes."""
    windows = [e for e in _windows(told, mean) if e["value"] is not None and e["quality"] != 4]
    return [(e, min(e["minutes"]["op1"], e["minutes"]["op2"])) for e in windows]


def _value(told: Session, mean: Record) -> float | None:
    used = _used(told, mean)
    minutes = sum(count for _, count in used)
    enough = minutes >= 0.75 * 60 * HOURS[mean["mean"]]
    return digits(sum(e["value"] * count for e, count in used) / minutes) if enough else None


def _reasons(told: Session, mean: Record) -> set[str]:
    used = {reason for e, _ in _used(told, mean) for reason in e["reasons"]}
    return {"insufficient_coverage"} if mean["value"] is None else used


def _quality(told: Session, mean: Record) -> int:
    return 9 if mean["value"] is None else max(e["quality"] for e, _ in _used(told, mean))


def _status(told: Session, mean: Record) -> str:
    windows = _windows(told, mean)
    whole = len(windows) == 4 * HOURS[mean["mean"]] and all(e["status"] == "final" for e in windows)
    return "final" if whole else "preliminary"


def _of_series(pair: Callable[[list[Record]], Pair]) -> Law:
    return lambda told: ([pair(told.of(t))[0] for t in SERIES], [pair(told.of(t))[1] for t in SERIES])


MEAN: dict[str, Law] = {
    "v": each(_means, lambda _, m: (m["v"], 1)),
    "sensor": each(_means, lambda _, m: (m["sensor"], "5A2D")),
    "gas": each(_means, lambda _, m: (m["gas"], "CO")),
    "mean": lambda told: (
        [m["mean"] for topic in SERIES for m in told.of(topic)],
        [topic[-2:] for topic in SERIES for _ in told.of(topic)],
    ),
    "value": each(_means, lambda told, m: (digits(m["value"]), _value(told, m))),
    "unit": each(_means, lambda _, m: (m["unit"], None if m["value"] is None else "ppm")),
    "start": each(_means, lambda _, m: (m["start"][14:], "00:00Z")),
    "end": each(_means, lambda _, m: (length_s(m), HOURS[m["mean"]] * 3600.0)),
    "seq": _of_series(counted),
    "revision": _of_series(revised),
    "supersedes": each(_means, lambda _, m: replaced(m)),
    "cause": each(_means, lambda _, m: (m["cause"], "late_readings" if m["revision"] else None)),
    "status": each(_means, lambda told, m: (m["status"], _status(told, m))),
    "quality": each(_means, lambda told, m: (m["quality"], _quality(told, m))),
    "reasons": each(_means, lambda told, m: ({*m["reasons"]}, _reasons(told, m))),
    "minutes": each(_means, lambda told, m: (m["minutes"], sum(n for _, n in _used(told, m)))),
    "expected": each(_means, lambda _, m: (m["expected"], 60 * HOURS[m["mean"]])),
    "models": each(_means, lambda told, m: (m["models"], [MODELS["5A2D"].id] if _used(told, m) else [])),
    "agent": each(_means, lambda _, m: (m["agent"], "van-1")),
}


def _all(told: Session) -> list[Record]:
    return [*told.newest(CONSENSUS).values()]


def _estimate(told: Session, sensor: str, consensus: Record) -> Record:
    """The newest estimate of a sensor in the window of a consensus."""
    return told.newest(f"calibrated/{sensor}/co")[told.number(consensus["start"])]


def _taking(told: Session, consensus: Record) -> list[Record]:
    return [_estimate(told, sensor, consensus) for sensor in consensus["sensors"]]


def _combined(told: Session, consensus: Record) -> Pair:
    """Here the sensors that take part count alike."""
    values = [each["value"] for each in _taking(told, consensus)]
    return digits(consensus["value"], 3), digits(sum(values) / len(values), 3) if values else None


def _bounded(told: Session, consensus: Record) -> bool:
    return sum(each["low"] is not None for each in _taking(told, consensus)) >= 2


def _end(sign: int, name: str) -> Law:
    """Within the interval of one sensor, because the errors of several are less."""

    def pair(told: Session, consensus: Record) -> Pair:
        if not _bounded(told, consensus):
            return consensus[name], None
        away = sign * (consensus[name] - consensus["value"])
        bounded = [each for each in _taking(told, consensus) if each[name] is not None]
        ends = [abs(each[name] - consensus["value"]) for each in bounded]
        return 0.0 < away <= max(ends), True

    return each(_all, pair)


def _spread(told: Session, consensus: Record) -> Pair:
    values = [each["value"] for each in _taking(told, consensus)]
    return digits(consensus["spread"], 3), digits(stdev(values), 3) if values else None


def _known(told: Session, consensus: Record) -> set[str]:
    """The sensors with a model that have an estimate of the window."""
    number = told.number(consensus["start"])
    return {sensor for sensor in MODELS if number in told.newest(f"calibrated/{sensor}/co")}


def _shares(_told: Session, consensus: Record) -> Pair:
    total = sum(consensus["sensors"].values())
    return not consensus["sensors"] or isclose(total, 1.0, abs_tol=0.001), True


def _flag(_told: Session, consensus: Record) -> Pair:
    worst = 9 if consensus["value"] is None else 3 if consensus["reasons"] else 1
    return consensus["quality"], worst


def _why(told: Session, consensus: Record) -> Pair:
    """Its own reasons, and those of more than half of its sensors."""
    taking = _taking(told, consensus)
    said = [reason for each in taking for reason in each["reasons"]]
    often = {reason for reason in said if 2 * said.count(reason) > len(taking)}
    own = {2: {"few_sensors"}, 0: {"too_few_sensors"}}.get(len(taking), set())
    return {*consensus["reasons"]}, often | own


def _place(expected: Callable[[int], Any], name: str) -> Law:
    return each(_all, lambda told, c: (c[name], expected(told.number(c["start"]))))


COMBINED: dict[str, Law] = {
    "v": each(_all, lambda _, c: (c["v"], 1)),
    "gas": each(_all, lambda _, c: (c["gas"], "CO")),
    "value": each(_all, _combined),
    "unit": each(_all, lambda _, c: (c["unit"], "ppm")),
    "unit_at": each(_all, lambda _, c: (c["unit_at"], None)),
    "low": _end(-1, "low"),
    "high": _end(1, "high"),
    "level": each(_all, lambda told, c: (c["level"], 0.9 if _bounded(told, c) else None)),
    "spread": each(_all, _spread),
    "start": each(_all, lambda told, c: (c["start"], told.start(told.number(c["start"])))),
    "end": each(_all, lambda _, c: (length_s(c), 900.0)),
    "seq": lambda told: counted(told.of(CONSENSUS)),
    "revision": lambda told: revised(told.of(CONSENSUS)),
    "supersedes": each(_all, lambda _, c: replaced(c)),
    "cause": lambda told: (
        [told.newest(CONSENSUS)[number]["cause"] for number in (ALONE, LATE)],
        ["late_readings", "late_sensor"],
    ),
    "status": each(_all, lambda _, c: (c["status"], "preliminary")),
    "quality": each(_all, _flag),
    "reasons": each(_all, _why),
    "sensors": each(_all, _shares),
    "left_out": each(_all, lambda told, c: ({*c["left_out"]}, _known(told, c) - {*c["sensors"]})),
    "position": _place(expected_position, "position"),
    "site": _place(expected_site, "site"),
    "agent": each(_all, lambda _, c: (c["agent"], "van-1")),
}


def _left_out(why: str, number: int, sensor: str, is_so: Callable[[Record], bool]) -> Law:
    def law(told: Session) -> Pair:
        consensus = told.newest(CONSENSUS)[number]
        return (consensus["left_out"].get(sensor), is_so(_estimate(told, sensor, consensus))), (why, True)

    return law


LEFT_OUT: dict[str, Law] = {
    "no_value": _left_out("no_value", LATE + 1, "1FEA", lambda e: e["value"] is None),
    "failed": _left_out("failed", DOUBTS, "1FEA", lambda e: e["quality"] == 4),
    "other_unit": _left_out("other_unit", KINDS, "D3EB", lambda e: e["unit"] == "ppb"),
    "stuck_value": _left_out("stuck_value", DOUBTS, "5092", lambda e: "stuck_value" in e["reasons"]),
    "far_from_others": _left_out("far_from_others", KINDS, "5092", lambda e: e["value"] > 1.5),
    "alone": _left_out("alone", LATE + 1, "5A2D", lambda e: e["quality"] == 1),
}
REASONS: dict[str, Law] = {
    "few_sensors": lambda told: (
        {(len(c["sensors"]), c["quality"]) for c in _all(told) if "few_sensors" in c["reasons"]},
        {(2, 3)},
    ),
    "too_few_sensors": lambda told: (
        {(len(c["sensors"]), c["quality"]) for c in _all(told) if "too_few_sensors" in c["reasons"]},
        {(0, 9)},
    ),
}
