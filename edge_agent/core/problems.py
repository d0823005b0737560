"""What a person should do something about, found in the agent's own health; time comes in as an argument."""

from collections.abc import Iterator, Mapping
from typing import Any

from edge_agent.core.messages import format_time, parse_time
from edge_agent.core.suspicions import DISAGREES, DRIFTING, LOST, SWAPPED

FREE_BYTES = 100_000_000  # below this the disk is nearly full
RENEW_MS = 30 * 86_400_000  # before its end a certificate or a calibration should be renewed
WAITED_S = 3_600  # an outbox whose oldest estimate has waited so long is not emptied

ADVICE = {
    "clock_unsynchronised": "check network and NTP; if the clock is right, set clock to trusted",
    "readings_waiting": "readings without a time of their own wait for the clock; synchronise it",
    "disk_nearly_full": "free some space, or lower max_mb",
    "outbox_growing": "check the broker that gets the estimates, and its ACL",
    "position_old": "check the receiver or phone, its topic and the ACL",
    "certificate_expiring": "renew the certificate of this van",
    "calibration_due": "plan a co-location before valid_until, then fit or adapt this sensor",
    "calibration_old": "put the van beside a reference, then fit or adapt this sensor",
    SWAPPED: "compare plugs, channels and cell with another sensor; edge-agent doctor has the evidence",
    LOST: "replace the cell or calibrate again; edge-agent doctor has the evidence",
    DRIFTING: "calibrate again, or replace the cell; edge-agent doctor has the evidence",
    DISAGREES: "look at this sensor and its bundle; edge-agent doctor has the evidence",
    "silent_channel": "check the sensor, its topics and the ACL",
    "stuck_channel": "check wiring and ADC",
}

Problem = tuple[str, str | None]  # code, sensor


class Problems:
    """The present problems, each with the time it was first seen.

    >>> problems = Problems()
    >>> health = {"clock": "unsynchronised", "readings": {"waiting_for_clock": 0},
    ...           "outbox": {"oldest_s": None}, "certificates": {}, "sensors": {}}
    >>> [problem["code"] for problem in problems.update(health, free_bytes=10**9, settled=True, now_ms=0)]
    ['clock_unsynchronised']
    """

    def __init__(self) -> None:
        self._since_ms: dict[Problem, int] = {}

    def update(
        self, health: Mapping[str, Any], free_bytes: int, settled: bool, now_ms: int
    ) -> list[dict[str, str]]:
        """The problems in a health record; only a `settled` agent has run long enough to find silence."""
        found = dict.fromkeys(_find(health, free_bytes, settled, now_ms))
        self._since_ms = {problem: self._since_ms.get(problem, now_ms) for problem in found}
        return [
            {
                "code": code,
                "since": format_time(since_ms),
                **({"sensor": sensor} if sensor is not None else {}),
                "advice": ADVICE[code],
            }
            for (code, sensor), since_ms in self._since_ms.items()
        ]


def _find(health: Mapping[str, Any], free_bytes: int, settled: bool, now_ms: int) -> Iterator[Problem]:
    if health["clock"] != "synchronised":
        yield "clock_unsynchronised", None
    if health["readings"]["waiting_for_clock"]:
        yield "readings_waiting", None
    if free_bytes < FREE_BYTES:
        yield "disk_nearly_full", None
    if (health["outbox"]["oldest_s"] or 0) > WAITED_S:
        yield "outbox_growing", None
    position = health.get("position")
    if position and position["fixes"] is not None and settled and _is_old(position["age_s"]):
        yield "position_old", None
    if any(parse_time(ends) - now_ms < RENEW_MS for ends in health["certificates"].values()):
        yield "certificate_expiring", None
    for sensor, told in health["sensors"].items():
        if told["silent"] and settled:
            yield "silent_channel", sensor
        if told["stuck"]:
            yield "stuck_channel", sensor
        yield from ((code, sensor) for code in told.get("suspected", ()))
        if told.get("valid_until") and health["clock"] == "synchronised":
            yield from _calibration(sensor, parse_time(told["valid_until"]) - now_ms)


def _calibration(sensor: str, left_ms: int) -> Iterator[Problem]:
    """Whether the calibration of a sensor ends in `left_ms`, or has ended."""
    if left_ms < RENEW_MS:
        yield "calibration_old" if left_ms < 0 else "calibration_due", sensor


def _is_old(age_s: int | None) -> bool:
    return age_s is None or age_s > WAITED_S
