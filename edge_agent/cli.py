"""The command line: data on stdout, words on stderr, one line for a failure."""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edge_agent import bundles, recording
from edge_agent.core.card import inspection
from edge_agent.core.errors import BadBundle, BadSettings, RespireError
from edge_agent.core.messages import encode_estimate
from edge_agent.core.model import Model
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Outcome, Windows
from edge_agent.systemd import journal_prefix

# Imported late below too: pydantic takes 0.2 s, and replay and inspect do not need it.
if TYPE_CHECKING:
    from edge_agent.settings import Settings

DONE, FAILED, CONFIGURATION = 0, 1, 78
ANSWER_S = 5.0
TRAINED_S = 900  # the windows that model-export fits
REPORTS_MISSED = 3  # after so many missing health reports the agent is not running


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return FAILED
    except RespireError as error:
        if options.debug:
            raise
        print(f"{journal_prefix('error')}edge-agent: {error}", file=sys.stderr)
        return CONFIGURATION if isinstance(error, BadSettings) else FAILED


def run(options: argparse.Namespace) -> int:
    """Run the agent until it is stopped."""
    from edge_agent import agent, log  # noqa: PLC0415 - paho and pydantic, as above

    settings = _settings(options.config)
    log.configure(settings.log.level, settings.log.format)
    try:
        agent.run(settings)
    except BadBundle as error:
        raise BadSettings(str(error)) from error
    return DONE


def status(options: argparse.Namespace) -> int:
    """Print the agent's last health report, from its journal or from its broker."""
    from edge_agent import brokers, mqtt  # noqa: PLC0415 - as above
    from edge_agent.journal import newest_health  # noqa: PLC0415 - as above

    settings = _settings(options.config)
    if options.broker:
        there = brokers.address(settings.uplink or settings.broker, settings.agent)
        topic = settings.topics.health.format(agent=settings.agent)
        health = mqtt.retained(there, topic, ANSWER_S).decode()
    else:
        health = newest_health(settings.state)
    print(health)
    # Not parse_time, which ends in 2100: a clock that was not set may be in any year.
    age_s = time.time() - datetime.fromisoformat(json.loads(health)["at"]).timestamp()
    if age_s > REPORTS_MISSED * settings.health.interval_s:
        _say(f"status: last health report is {age_s / 60:.0f} minutes old; the agent is not running")
    return DONE


def check(options: argparse.Namespace) -> int:
    """Check settings and bundles, and print what the agent would use."""
    from edge_agent import brokers  # noqa: PLC0415 - as above

    settings = _settings(options.config)
    remarks = list(brokers.check(settings))
    try:
        models = bundles.Bundles(settings.bundles).models
    except BadBundle as error:
        raise BadSettings(str(error)) from error
    for model in models.values():
        if missing := {*model.measured, model.auxiliary} - {*settings.topics.channels}:
            expected, got = ", ".join(sorted(missing)), ", ".join(settings.topics.channels)
            raise BadSettings(
                f"topics.channels: expected {expected} for the bundle of {model.sensor}, got {got}"
            )
    if settings.windows.length_s != TRAINED_S and any(model.warming for model in models.values()):
        remarks.append(
            f"these models were trained on {TRAINED_S} s windows; "
            f"expect biased estimates with {settings.windows.length_s} s"
        )
    if settings.state.exists() and not settings.state.is_dir():
        raise BadSettings(f"state: {settings.state}: expected a directory, got a file")
    _print_json(
        {
            "agent": settings.agent,
            "broker": f"{settings.broker.host}:{settings.broker.port}",
            "uplink": settings.uplink and f"{settings.uplink.host}:{settings.uplink.port}",
            "readings": list(settings.topics.readings),
            "estimates": settings.topics.estimate,
            "state": str(settings.state),
            "sensors": {sensor: {"model": model.id, **model.provenance} for sensor, model in models.items()},
        }
    )
    found = "1 bundle is" if len(models) == 1 else f"{len(models)} bundles are"
    for remark in remarks:
        _say(f"check: {remark}")
    _say(f"check: settings are valid, {found} valid")
    return DONE


def replay(options: argparse.Namespace) -> int:
    """Run a recording through the agent's pipeline; print one estimate per window as JSON lines."""
    model = _model_of(options.sensor, options.bundles)
    channels = (*model.measured, model.auxiliary)
    windows = Windows(length_ms=options.length_s * 1000, grace_ms=options.grace_s * 1000)
    pipeline = Pipeline(windows, {options.sensor: model}, agent="replay")
    readings = recording.read(options.file, options.sensor, channels, needed=channels)
    closed, outcomes = 0, Counter[Outcome]()
    for estimate in pipeline.replay(readings, outcomes):
        sys.stdout.write(encode_estimate(estimate).decode() + "\n")
        closed += 1
    sys.stdout.flush()
    counts = ", ".join(f"{outcomes[kind]} {kind}" for kind in Outcome if outcomes[kind])
    _say(f"replay: {closed} windows from {counts or 'no'} readings")
    if outcomes[Outcome.LATE]:
        _say("replay: late readings are in no window; sort the rows by time")
    return DONE


def inspect(options: argparse.Namespace) -> int:
    """Print a bundle as JSON: its card, its scaling and its size."""
    model = bundles.read(options.bundle)
    _print_json(inspection(model, options.bundle.stat().st_size))
    return DONE


def _settings(file: Path | None) -> "Settings":
    from edge_agent import settings as configuration  # noqa: PLC0415 - as above

    if file is None and not configuration.DEFAULT_FILE.exists():
        _say(f"edge-agent: {configuration.DEFAULT_FILE} not found; using defaults and EDGE_AGENT_… variables")
    return configuration.load(file)


def _window_length(text: str) -> int:
    if not text.isdecimal() or not 60 <= int(text) <= 86_400 or int(text) % 60:
        raise argparse.ArgumentTypeError(f"expected whole minutes from 60 to 86400 seconds, got {text!r}")
    return int(text)


def _grace(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of seconds from 0 on, got {text!r}")
    return int(text)


def _model_of(sensor: str, path: Path) -> Model:
    models = bundles.Bundles(path).models
    if sensor not in models:
        found = ", ".join(models) or "none"
        raise BadBundle(
            f"{path}: expected a bundle for sensor {sensor}, got {found}; "
            f"make one with: model-export fit --sensor {sensor} --out {sensor}.bundle …"
        )
    return models[sensor]


def _print_json(record: dict[str, Any]) -> None:
    """One line per key, so that people find it beside long lists of numbers."""
    lines = (f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in record.items())
    print("{\n" + ",\n".join(lines) + "\n}")


def _say(words: str) -> None:
    print(words, file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="edge-agent", description="Calibrate CO sensors on a gateway.")
    parser.add_argument("--version", action="version", version=f"edge-agent {version('respire-edge')}")
    parser.add_argument("--debug", action="store_true", help="show a traceback after a failure")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    for function in (run, status, check):
        command = _command(commands, function, f"edge-agent {function.__name__} --config edge-agent.toml")
        help_ = "settings file, default /etc/edge-agent/edge-agent.toml"
        command.add_argument("--config", type=Path, metavar="FILE", help=help_)
        if function is status:
            help_ = "ask the broker that gets the estimates, not the journal"
            command.add_argument("--broker", action="store_true", help=help_)

    command = _command(commands, replay, "edge-agent replay --bundles bundles --sensor 5A2D 5A2D.csv.gz")
    command.add_argument(
        "--bundles", type=Path, required=True, metavar="DIR", help="directory of bundles, or one bundle"
    )
    command.add_argument("--sensor", required=True, metavar="ID", help="the sensor of the recording")
    command.add_argument(
        "--length-s", type=_window_length, default=900, metavar="N", help="length of a window, default 900"
    )
    command.add_argument(
        "--grace-s",
        type=_grace,
        default=60,
        metavar="N",
        help="wait for late readings, default 60",
    )
    command.add_argument(
        "file", type=Path, metavar="FILE", help="CSV, plain or .gz: timestamp,op1,op2,temperature"
    )

    command = _command(commands, inspect, "edge-agent inspect bundles/5A2D.bundle")
    command.add_argument("bundle", type=Path, metavar="BUNDLE")
    return parser


def _command(commands: Any, function: Any, example: str) -> argparse.ArgumentParser:
    """A subcommand with the name and docstring of its function; --help ends with an example."""
    words = function.__doc__
    command: argparse.ArgumentParser = commands.add_parser(
        function.__name__,
        help=words,
        description=words,
        epilog=f"example: {example}",
    )
    command.set_defaults(command=function)
    return command
