"""The health record as metrics for Prometheus, in the text format of its textfile collector."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

Labels = dict[str, str]
SCORE = {
    "r2": "Share of the variance of the reference that the estimates explain.",
    "coverage": "Share of the reference's values that are in the interval.",
    "level": "Share that should be in it.",
    "windows": "Windows in the score.",
}


class Metric(NamedTuple):
    """One name with its samples; a sample without a number is left out."""

    name: str
    kind: str
    help: str
    samples: Iterable[tuple[Labels, float | None]]


def exposition(record: Mapping[str, Any], running: bool) -> str:
    """Every number of a health record, each with the agent's name as a label.

    >>> print(_line("edge_agent_up", {"agent": "van-1"}, 1))
    edge_agent_up{agent="van-1"} 1
    """
    lines: list[str] = []
    for metric in (*_agent(record, running), *_sensors(record), *_reference(record)):
        name = f"edge_agent_{metric.name}"
        lines += [f"# HELP {name} {metric.help}", f"# TYPE {name} {metric.kind}"]
        lines += [
            _line(name, {"agent": record["agent"], **labels}, value)
            for labels, value in metric.samples
            if value is not None
        ]
    return "\n".join(lines)


def _agent(record: Mapping[str, Any], running: bool) -> Iterator[Metric]:
    readings, outbox, bundles = dict(record["readings"]), record["outbox"], record["bundles"]
    waiting = readings.pop("waiting_for_clock", 0)

    def gauge(name: str, help_: str, value: float | None) -> Metric:
        return Metric(name, "gauge", help_, [({}, value)])

    def counter(name: str, help_: str, value: float) -> Metric:
        return Metric(name, "counter", help_, [({}, value)])

    yield gauge("up", "1 if the agent still writes health reports.", running)
    yield Metric("info", "gauge", "Always 1.", [({"version": record["version"]}, 1)])
    yield gauge("health_timestamp_seconds", "Time of the last health report.", _seconds(record["at"]))
    yield gauge("uptime_seconds", "How long the agent has run.", record["uptime_s"])
    synchronised = record["clock"] == "synchronised"
    yield gauge("clock_synchronised", "1 if the clock of the gateway is synchronised.", synchronised)
    outcomes = [({"outcome": kind}, count) for kind, count in readings.items()]
    yield Metric("readings_total", "counter", "Readings since the start, by outcome.", outcomes)
    yield gauge("readings_waiting", "Readings that wait for the clock.", waiting)
    yield gauge("outbox_estimates", "Estimates that are not delivered yet.", outbox["depth"])
    yield gauge("outbox_oldest_seconds", "How long the oldest of them has waited.", outbox["oldest_s"] or 0)
    yield counter("estimates_dropped_total", "Estimates dropped by a full journal.", outbox["dropped"])
    yield gauge("bundles_loaded", "Bundles that serve.", bundles["loaded"])
    yield gauge("bundles_refused", "Bundles that were refused.", bundles["refused"])
    yield gauge("journal_bytes", "Disk space used by the content of the journal.", record["journal_bytes"])
    yield gauge("memory_bytes", "Memory of the process.", record["rss_bytes"])
    yield counter("written_bytes_total", "Bytes written to disk since the start.", record["written_bytes"])


def _sensors(record: Mapping[str, Any]) -> Iterator[Metric]:
    told = [({"sensor": sensor}, each) for sensor, each in record["sensors"].items()]

    def gauge(name: str, help_: str, samples: Iterable[tuple[Labels, float | None]]) -> Metric:
        return Metric(name, "gauge", help_, samples)

    yield gauge(
        "sensor_last_reading_timestamp_seconds",
        "Time of the reading that arrived last.",
        [(labels, _seconds(each["last_reading"])) for labels, each in told],
    )
    yield gauge("sensor_has_model", "1 if a bundle serves.", [(at, bool(e["model"])) for at, e in told])
    yield gauge(
        "sensor_calibration_valid_until_timestamp_seconds",
        "Time from which the calibration is too old.",
        [(labels, _seconds(each.get("valid_until"))) for labels, each in told],
    )
    for state in ("silent", "stuck"):
        count = [(labels, len(each[state])) for labels, each in told]
        yield gauge(f"sensor_{state}_channels", f"Channels that are {state}.", count)
    suspected = [
        ({**labels, "reason": reason}, 1) for labels, each in told for reason in each.get("suspected", ())
    ]
    yield gauge("sensor_suspected", "1 for each suspicion that the other sensors raise.", suspected)
    problems = [
        ({"code": problem["code"], "sensor": problem.get("sensor", "")}, 1) for problem in record["problems"]
    ]
    yield gauge("problem", "1 for each problem that a person should look at.", problems)


def _reference(record: Mapping[str, Any]) -> Iterator[Metric]:
    """Nothing but the names without a reference."""
    told = record.get("reference") or {"last_reading": None, "readings": {}, "scores": {}}
    at: list[tuple[Labels, float | None]] = [({}, _seconds(told["last_reading"]))]
    yield Metric("reference_last_reading_timestamp_seconds", "gauge", "Time of its last value.", at)
    outcomes = [({"outcome": kind}, count) for kind, count in told["readings"].items()]
    yield Metric("reference_readings_total", "counter", "Values since the start, by outcome.", outcomes)
    scores = [({"sensor": sensor}, each) for sensor, each in told["scores"].items()]
    biases = [({**labels, "unit": each["unit"]}, each["bias"]) for labels, each in scores]
    yield Metric("score_bias", "gauge", "Mean of estimate minus reference.", biases)
    for name, help_ in SCORE.items():
        yield Metric(f"score_{name}", "gauge", help_, [(labels, each[name]) for labels, each in scores])
    ends = [(labels, _seconds(each["to"])) for labels, each in scores]
    yield Metric("score_end_timestamp_seconds", "gauge", "End of the last window in the score.", ends)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{shown}}} {float(value):.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _seconds(at: str | None) -> float | None:
    return None if at is None else datetime.fromisoformat(at).timestamp()
