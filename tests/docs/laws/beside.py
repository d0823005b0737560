"""The rows on scores, alerts and model cards."""

from math import sqrt
from statistics import fmean
from typing import Any

import numpy as np

from edge_agent.core.messages import format_time, parse_time
from tests.docs.laws import Law, Pair, Record, digits, each
from tests.support.contract import LATER, MODELS, OLD_MS, Session
from tests.support.contract_sent import HOUR_MS, REFERENCE, STUCK, SUSPECT

COUNTS = {
    "accepted": len(REFERENCE) + 40,
    "duplicate": 1,
    "too_late": 1,
    "future": 1,
    "excess": 10,
    "rejected": 1,
    "unstampable": 1,
}
WINDOWS = range(26, 36)  # of the reference that are complete


def _pairs(told: Session) -> list[tuple[Record, float]]:
    """Each estimate with the mean of the reference in its window."""
    newest = told.newest("calibrated/5A2D/co")
    means = {n: fmean(REFERENCE[m] for m in range(n * 15, n * 15 + 15) if m in REFERENCE) for n in WINDOWS}
    return [(newest[number], mean) for number, mean in means.items()]


def _errors(told: Session) -> list[float]:
    return [estimate["value"] - mean for estimate, mean in _pairs(told)]


def _explained(told: Session) -> float:
    means = [mean for _, mean in _pairs(told)]
    spread = sum((mean - fmean(means)) ** 2 for mean in means)
    return 1.0 - sum(error**2 for error in _errors(told)) / spread


def _covered(told: Session) -> float:
    return fmean(estimate["low"] <= mean <= estimate["high"] for estimate, mean in _pairs(told))


def score(told: Session) -> Record:
    record: Record = told.of("calibrated/5A2D/co/score")[-1]
    return record


def _count(outcome: str) -> Law:
    return lambda told: (told.health["reference"]["readings"][outcome], COUNTS[outcome])


OUTCOMES = {outcome: _count(outcome) for outcome in COUNTS}
SCORE: dict[str, Law] = {
    "v": lambda told: (score(told)["v"], 1),
    "agent": lambda told: (score(told)["agent"], "van-1"),
    "sensor": lambda told: (score(told)["sensor"], "5A2D"),
    "gas": lambda told: (score(told)["gas"], "CO"),
    "from": lambda told: (score(told)["from"], told.start(min(WINDOWS))),
    "to": lambda told: (score(told)["to"], told.start(max(WINDOWS) + 1)),
    "windows": lambda told: (score(told)["windows"], len(WINDOWS)),
    "bias": lambda told: (digits(score(told)["bias"]), digits(fmean(_errors(told)))),
    "rmse": lambda told: (digits(score(told)["rmse"]), digits(sqrt(fmean(e**2 for e in _errors(told))))),
    "unit": lambda told: (score(told)["unit"], "ppm"),
    "r2": lambda told: (digits(score(told)["r2"], 2), digits(_explained(told), 2)),
    "coverage": lambda told: (score(told)["coverage"], digits(_covered(told))),
    "level": lambda told: (score(told)["level"], 0.9),
    "model": lambda told: (score(told)["model"], MODELS["5A2D"].id),
}
LIMITS: dict[str, dict[str, Any]] = {
    "co-8h": {"mean": "8h", "above": 0.1, "below": 0.0},
    "peak": {"mean": "window", "above": 2.0, "below": 1.5},
}


def _alerts(told: Session) -> list[Record]:
    return [record for name in LIMITS for record in told.of(f"alert/5A2D/{name}")]


def _limit(name: str) -> Law:
    return each(_alerts, lambda _, a: (a[name], LIMITS[a["alert"]][name]))


def _judged(told: Session, alert: Record) -> Record:
    """The window or the mean, as it was first published, that raised or cleared an alert."""
    topic = "calibrated/5A2D/co" + ("/8h" if alert["mean"] == "8h" else "")
    [found] = [e for e in told.of(topic) if e["end"] == alert["at"] and not e["revision"]]
    record: Record = found
    return record


def _first(told: Session, alert: Record) -> str:
    """The end of the window that raises or clears it, or of the first mean with a value."""
    if alert["alert"] == "peak":
        return told.start((SUSPECT if alert["state"] == "raised" else STUCK) + 1)
    means = told.of("calibrated/5A2D/co/8h")
    return min(str(m["end"]) for m in means if m["value"] is not None and not m["revision"])


def _states(told: Session) -> Pair:
    """The last state of each; that the second one was raised is published if there is time for it."""
    return {a["alert"]: a["state"] for a in _alerts(told)}, {"co-8h": "raised", "peak": "cleared"}


def _since(told: Session, alert: Record) -> Pair:
    if alert["mean"] == "window":
        return alert["since"], _judged(told, alert)["start"]
    return parse_time(alert["at"]) - parse_time(alert["since"]), HOUR_MS


ALERT: dict[str, Law] = {
    "v": each(_alerts, lambda _, a: (a["v"], 1)),
    "agent": each(_alerts, lambda _, a: (a["agent"], "van-1")),
    "sensor": each(_alerts, lambda _, a: (a["sensor"], "5A2D")),
    "alert": lambda told: ({a["alert"] for a in _alerts(told)}, {*LIMITS}),
    "state": _states,
    "since": each(_alerts, _since),
    "at": each(_alerts, lambda told, a: (a["at"], _first(told, a))),
    "value": each(_alerts, lambda told, a: (a["value"], _judged(told, a)["value"])),
    "unit": each(_alerts, lambda told, a: (a["unit"], _judged(told, a)["unit"])),
    "mean": _limit("mean"),
    "above": _limit("above"),
    "below": _limit("below"),
}


def _card(told: Session, sensor: str = "5A2D") -> Record:
    record: Record = told.of(f"calibrated/{sensor}/model")[-1]
    return record


def _in_domain(told: Session, estimate: Record) -> Pair:
    """Whether every input is in the range, and whether no reason names one that is not."""
    domain, inputs = _card(told)["domain"], estimate["inputs"]
    inside = all(low <= inputs[name] <= high for name, (low, high) in domain.items())
    return inside, not any(reason.endswith("_outside_training") for reason in estimate["reasons"])


def _curve(told: Session, estimate: Record) -> Pair:
    """The weights of an estimate lie on the curves."""
    curves, at = _card(told)["curves"], estimate["inputs"]["temperature"]
    close = [
        abs(np.interp(at, curves["temperature"], curve) - estimate["weights"][name]) < 0.02 * np.ptp(curve)
        for name, curve in curves.items()
        if name != "temperature"
    ]
    return (len(curves["temperature"]), all(close)), (41, True)


def _valued(told: Session) -> list[Record]:
    return [e for e in told.estimates("5A2D") if e["value"] is not None]


def _interval(told: Session) -> Pair:
    widths = {digits(e["high"] - e["value"]) for e in _valued(told) if e["high"] is not None}
    interval = _card(told)["interval"]
    return (widths, interval["level"], interval["slope"]), ({interval["half_width"]}, 0.9, 0.0)


def _changed(told: Session) -> Pair:
    """Between two health records, of which one has the old model and the next one the new."""
    times = {h["sensors"]["1FEA"]["model"]: parse_time(h["at"]) for h in reversed(told.of("health"))}
    changed_ms = parse_time(_card(told, "1FEA")["changed_at"])
    return times[MODELS["1FEA"].id] < changed_ms <= times[LATER.id], True


CARD: dict[str, Law] = {
    "v": lambda told: (_card(told)["v"], 1),
    "sensor": lambda told: (_card(told)["sensor"], "5A2D"),
    "id": lambda told: ({_card(told)["id"]}, {e["model"] for e in told.estimates("5A2D")}),
    "gas": lambda told: ({_card(told)["gas"]}, {e["gas"] for e in told.estimates("5A2D")}),
    "unit": lambda told: ({_card(told, "D3EB")["unit"]}, {e["unit"] for e in told.estimates("D3EB")}),
    "channels": each(_valued, lambda told, e: ([*_card(told)["channels"], "bias"], [*e["weights"]])),
    "auxiliary": lambda told: (_card(told)["auxiliary"], "temperature"),
    "window": lambda told: (_card(told)["window"], 900),
    "warming": lambda told: (_card(told, "5CB6")["warming"], {"warming_1h": 3600.0, "warming_4h": 14400.0}),
    "kernel": lambda told: (_card(told)["kernel"], MODELS["5A2D"].kernel),
    "support": lambda told: (_card(told)["support"], len(MODELS["5A2D"].support)),
    "domain": each(_valued, _in_domain),
    "sensor_type": lambda told: (_card(told)["sensor_type"], "electrochemical"),
    "power": lambda told: (_card(told)["power"], 1.0),
    "interval": _interval,
    "calibrated": lambda told: (_card(told)["calibrated"], format_time(OLD_MS)),
    "valid_until": lambda told: (
        (
            _card(told, "5CB6")["valid_until"],
            ["calibration_old" in e["reasons"] for e in told.estimates("5CB6")],
        ),
        (format_time(OLD_MS), [True for _ in told.estimates("5CB6")]),
    ),
    "provenance": lambda told: (_card(told)["provenance"], dict(MODELS["5A2D"].provenance)),
    "curves": each(_valued, _curve),
    "previous": lambda told: (
        [_card(told)["previous"], _card(told, "1FEA")["previous"]],
        [None, MODELS["1FEA"].id],
    ),
    "changed_at": _changed,
    "first_window": lambda told: (
        _card(told, "1FEA")["first_window"],
        next(e["start"] for e in told.estimates("1FEA") if e["model"] == LATER.id),
    ),
}
