"""The rows on estimates."""

from math import fsum

from edge_agent.core.messages import parse_time
from tests.docs.laws import HALF_WIDTH, Law, Pair, Record, counted, digits, each, length_s, replaced, revised
from tests.docs.laws.places import expected_position, expected_site
from tests.support.contract import LATER, MODELS, Session
from tests.support.contract_sent import (
    FAILED,
    HALF,
    LATE,
    MOVING,
    NORMAL,
    POOR,
    SPREAD,
    STUCK,
    SUSPECT,
)

ODD = {
    SPREAD: (3, ["moving"]),
    MOVING: (3, ["moving"]),
    SUSPECT: (3, ["op1_outside_training", "stuck_value"]),
    FAILED: (4, ["op1_outside_training", "stuck_value"]),
    STUCK: (3, ["stuck_value"]),
    POOR: (9, ["insufficient_coverage"]),
}


def _all(told: Session) -> list[Record]:
    return told.estimates()


def _main(told: Session) -> list[Record]:
    return told.estimates("5A2D")


def _judged(told: Session, record: Record) -> tuple[int, list[str]]:
    """The flag and the reasons of an estimate of 5A2D."""
    return (1, []) if record["revision"] else ODD.get(told.number(record["start"]), (1, []))


def _minutes(told: Session, record: Record) -> range:
    """The minutes of its window that an estimate of 5A2D has."""
    number = told.number(record["start"])
    poor = number == POOR and not record["revision"]
    return range(number * 15, number * 15 + (HALF if poor else 15))


def _inputs(told: Session, record: Record) -> Pair:
    """Each minute has one reading here, so the mean of the window is theirs."""
    minutes, odd = _minutes(told, record), told.number(record["start"]) in (SUSPECT, FAILED, STUCK)
    means = {name: level + fsum(m % 7 / 10 for m in minutes) / len(minutes) for name, level in NORMAL.items()}
    names = [name for name in means if name != "op1" or not odd]
    return [digits(record["inputs"][n]) for n in names], [digits(means[n]) for n in names]


def _weights(told: Session, record: Record) -> Pair:
    weights = record["weights"]
    if weights is None:
        return record["value"], None
    total = sum(w * record["inputs"].get(name, 1.0) for name, w in weights.items())
    return digits(record["value"], 4), digits(total, 4)


def _outside(record: Record) -> bool:
    return any(reason.endswith("_outside_training") for reason in record["reasons"])


def _end(sign: int, name: str) -> Law:
    """One end of the interval."""

    def pair(_told: Session, record: Record) -> Pair:
        model = MODELS.get(record["sensor"])
        bounded = model and model.interval and record["value"] is not None and not _outside(record)
        return digits(record[name]), digits(record["value"] + sign * HALF_WIDTH) if bounded else None

    return each(_all, pair)


def _model_of(told: Session, record: Record) -> str | None:
    if record["sensor"] == "1FEA" and told.number(record["start"]) > LATE:
        return LATER.id
    return MODELS[record["sensor"]].id if record["sensor"] in MODELS else None


def _is_complete(record: Record) -> bool:
    model = MODELS.get(record["sensor"])
    return {*record["minutes"].values()} == {15} and model is not None and not model.warming


def _each_series(told: Session) -> list[list[Record]]:
    return [told.estimates(sensor) for sensor in (*MODELS, "0000")]


def _seq(told: Session) -> Pair:
    found, expected = zip(*map(counted, _each_series(told)), strict=True)
    return found, expected


def _revision(told: Session) -> Pair:
    found, expected = zip(*map(revised, _each_series(told)), strict=True)
    return found, expected


ESTIMATE: dict[str, Law] = {
    "v": each(_all, lambda _, e: (e["v"], 1)),
    "sensor": lambda told: (
        [e["sensor"] for sensor in MODELS for e in told.estimates(sensor)],
        [sensor for sensor in MODELS for _ in told.estimates(sensor)],
    ),
    "gas": each(_all, lambda _, e: (e["gas"], "CO" if e["sensor"] in MODELS else None)),
    "value": each(_all, lambda _, e: (e["value"] is None, e["quality"] == 9)),
    "unit": each(_all, lambda _, e: (e["unit"], MODELS[e["sensor"]].unit if e["sensor"] in MODELS else None)),
    "unit_at": each(_all, lambda _, e: (e["unit_at"], None)),
    "low": _end(-1, "low"),
    "high": _end(1, "high"),
    "level": each(_all, lambda _, e: (e["level"], None if e["low"] is None else 0.9)),
    "start": each(_all, lambda _, e: (parse_time(e["start"]) % 900_000, 0)),
    "end": each(_all, lambda _, e: (length_s(e), 900.0)),
    "seq": _seq,
    "revision": _revision,
    "supersedes": each(_all, lambda _, e: replaced(e)),
    "cause": each(_all, lambda _, e: (e["cause"], "late_readings" if e["revision"] else None)),
    "status": each(_all, lambda _, e: (e["status"], "final" if _is_complete(e) else "preliminary")),
    "quality": each(_main, lambda told, e: (e["quality"], _judged(told, e)[0])),
    "reasons": each(_main, lambda told, e: (e["reasons"], _judged(told, e)[1])),
    "inputs": each(_main, _inputs),
    "minutes": each(
        _main,
        lambda told, e: (e["minutes"], dict.fromkeys(NORMAL, len(_minutes(told, e))) | {"expected": 15}),
    ),
    "weights": each(_all, _weights),
    "position": each(_main, lambda told, e: (e["position"], expected_position(told.number(e["start"])))),
    "site": each(_main, lambda told, e: (e["site"], expected_site(told.number(e["start"])))),
    "model": each(_all, lambda told, e: (e["model"], _model_of(told, e))),
    "agent": each(_all, lambda _, e: (e["agent"], "van-1")),
    "clock": each(_all, lambda _, e: (e["clock"], "synchronised")),
}
FLAGS: dict[str, Law] = {
    "1": lambda told: ([e["value"] for e in told.estimates() if e["quality"] == 1].count(None), 0),
    "3": lambda told: ([e["value"] for e in told.estimates() if e["quality"] == 3].count(None), 0),
    "4": lambda told: (
        {e["inputs"]["op1"] > 300.0 + (300.0 - 180.0) for e in told.estimates() if e["quality"] == 4},
        {True},
    ),
    "9": lambda told: ({e["value"] for e in told.estimates() if e["quality"] == 9}, {None}),
}
