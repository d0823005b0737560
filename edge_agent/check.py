"""`edge-agent check`: tries everything that `run` needs, and says all that is wrong at once."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edge_agent import brokers, bundles, mqtt, state
from edge_agent import settings as configuration
from edge_agent.clock import Clock
from edge_agent.core.card import valid_until
from edge_agent.core.errors import BadBundle, BadSettings, BrokerUnavailable
from edge_agent.core.model import Model
from edge_agent.locator import Locator
from edge_agent.settings import Broker, Settings
from edge_agent.terminal import CONFIGURATION, DONE, FAILED, aligned, print_json, say

ANSWER_S = 5.0


@dataclass(slots=True)
class Findings:
    """`mistakes` stop the agent; with `faults` it runs but does not do its work; `remarks` are for people."""

    mistakes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def check(config: Path | None, try_brokers: bool, as_json: bool) -> int:
    """Print what the agent would use, as a table on a terminal or as JSON, and every mistake."""
    found = Findings(faults=configuration.unknown_variables())
    settings, mistakes = configuration.examine(config)
    found.mistakes += mistakes
    if settings:
        models = _check_bundles(settings, found)
        _check_brokers(settings, found, try_brokers)
        _check_state(settings, found)
        _check_clock(settings, found)
        if not found.mistakes:
            summary = _summary(settings, models)
            if as_json or not sys.stdout.isatty():
                print_json(summary)
            else:
                print("\n".join(_table(summary)))
    return _report(found, len(models) if settings else 0)


def _report(found: Findings, models: int) -> int:
    for remark in found.remarks:
        say(f"check: {remark}")
    for line in (*found.mistakes, *found.faults):
        say(f"edge-agent: {line}")
    if found.mistakes:
        return CONFIGURATION
    bundles_are = "1 bundle is" if models == 1 else f"{models} bundles are"
    say(f"check: settings are valid, {bundles_are} valid")
    return FAILED if found.faults else DONE


def _check_bundles(settings: Settings, found: Findings) -> dict[str, Model]:
    try:
        models = bundles.Bundles(settings.bundles, length_s=settings.windows.length_s).models
    except BadBundle as error:
        found.mistakes += list(_refused(settings)) or [str(error)]
        return {}
    if not models:
        found.faults.append(f"{settings.bundles}: expected at least one bundle; estimates will have no value")
    for model in models.values():
        if missing := {*model.measured, model.auxiliary} - {*settings.topics.channels}:
            expected, got = ", ".join(sorted(missing)), ", ".join(settings.topics.channels)
            found.mistakes.append(
                f"topics.channels: expected {expected} for the bundle of {model.sensor}, got {got}"
            )
        unit = settings.estimates.unit
        if unit and unit.factor(model.gas, model.unit) is None:
            words = f"{model.gas} in {model.unit} cannot be converted to {unit.unit}"
            found.remarks.append(f"estimates of {model.sensor} keep their unit: {words}")
        if model.valid_until_ms is not None and model.valid_until_ms < Clock().now_ms():
            words = "its estimates have quality 3; fit or adapt it again"
            found.remarks.append(
                f"the calibration of {model.sensor} was valid until {valid_until(model)}; {words}"
            )
    return models


def _refused(settings: Settings) -> Iterator[str]:
    """The reason of every bad bundle in a directory."""
    path = settings.bundles
    for file in sorted(path.glob(f"*{bundles.SUFFIX}")) if path.is_dir() else ():
        try:
            bundles.require_length(file, bundles.read(file), settings.windows.length_s)
        except BadBundle as error:
            yield str(error)


def _check_brokers(settings: Settings, found: Findings, try_them: bool) -> None:
    for section, broker in (("BROKER", settings.broker), ("UPLINK", settings.uplink)):
        if broker is None:
            continue
        if brokers.needs_systemd(broker):
            words = "is a systemd credential of the service, so this broker is not tried; to try it, set"
            variable = f"EDGE_AGENT_{section}__PASSWORD_FILE to a file with the password"
            found.remarks.append(f"{broker.password_file} {words} {variable}")
            continue
        try:
            address = brokers.beside(broker, settings.agent)
            if try_them:
                mqtt.reach(broker.host, broker.port, ANSWER_S)
                mqtt.log_in(address, ANSWER_S)
        except BadSettings as error:
            found.mistakes.append(str(error))
        except BrokerUnavailable as error:
            found.faults.append(str(error))


def _check_state(settings: Settings, found: Findings) -> None:
    try:
        found.remarks += state.try_directory(settings.state)
    except BadSettings as error:
        found.mistakes.append(str(error))


def _check_clock(settings: Settings, found: Findings) -> None:
    if not Clock(trusted=settings.clock == "trusted").synchronised():
        words = "the kernel says that it is not synchronised; readings without at wait until it is"
        found.faults.append(f'clock: {words}. Check timedatectl, or set clock = "trusted" if it is right')


def _summary(settings: Settings, models: dict[str, Model]) -> dict[str, Any]:
    return {
        "agent": settings.agent,
        "broker": _place(settings.broker),
        "uplink": settings.uplink and _place(settings.uplink),
        "readings": list(settings.topics.readings),
        "estimates": settings.own_topics.estimate("+"),
        "position": _position(settings),
        "state": str(settings.state),
        "sensors": {
            sensor: {"model": model.id, "valid_until": valid_until(model), **model.provenance}
            for sensor, model in models.items()
        },
    }


def _table(summary: dict[str, Any]) -> Iterator[str]:
    """The summary for people: what is set, then a line for each sensor with a bundle."""
    position = summary["position"] or {}
    places = (
        f"{key} {', '.join(each) if isinstance(each, list) else each}"
        for key, each in position.items()
        if each
    )
    yield from aligned(
        [
            ("agent", summary["agent"]),
            ("broker", summary["broker"]),
            ("uplink", summary["uplink"] or "none, estimates go to the broker"),
            ("readings", " ".join(summary["readings"])),
            ("estimates", summary["estimates"]),
            ("position", ", ".join(places) or "none"),
            ("state", summary["state"]),
        ]
    )
    if summary["sensors"]:
        yield ""
        heading = ("sensor", "model", "valid until", "trained on", "R² there")
        yield from aligned([heading, *(_row(name, each) for name, each in summary["sensors"].items())])


def _row(sensor: str, told: dict[str, Any]) -> tuple[str, ...]:
    until, r2 = told["valid_until"], told.get("r2_test")
    return (
        sensor,
        str(told["model"]).removeprefix("sha256:"),
        until[:10] if until else "-",
        str(told.get("dataset", "-")),
        f"{r2:.2f}" if isinstance(r2, float) else "-",
    )


def _position(settings: Settings) -> dict[str, Any] | None:
    position = settings.position
    if position.topic:
        return {"topic": position.topic, "sites": [site.name for site in settings.sites]}
    if position.latitude is None:
        return None
    fixed = Locator(settings).positions.place(0, 1)
    return {"latitude": position.latitude, "longitude": position.longitude, "site": fixed.site}


def _place(broker: Broker) -> str:
    return f"{broker.host}:{broker.port}"
