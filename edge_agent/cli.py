"""The command line: data on stdout, words on stderr, one line for a failure."""

import argparse
import gc
import os
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edge_agent.core.errors import BadBundle, BadSettings, RespireError
from edge_agent.core.messages import LAST_MS, format_time, parse_time
from edge_agent.systemd import journal_prefix
from edge_agent.terminal import CONFIGURATION, DONE, FAILED, aligned, load_settings, print_json, say

WHAT = ("estimates", "windows", "consensus", "readings", "fixes")  # that export writes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options, unknown = _parser().parse_known_args(arguments)
    if unknown:
        options.usage(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        return int(options.command(options))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return FAILED
    except PermissionError as error:
        if options.debug:
            raise
        say(f"edge-agent: {error.filename}: permission denied; try sudo")
        return FAILED
    except RespireError as error:
        if options.debug:
            raise
        say(f"{journal_prefix('error')}edge-agent: {error}")
        return CONFIGURATION if isinstance(error, BadSettings) else FAILED


def run(options: argparse.Namespace) -> int:
    """Run the agent until it is stopped."""
    usual = gc.get_threshold()
    gc.set_threshold(50_000)  # imports leave nearly no garbage, and looking for it is 3 % of a start
    from edge_agent import log, service  # noqa: PLC0415 - pydantic takes 0.2 s, and replay and inspect do not need it

    gc.set_threshold(*usual)
    settings = load_settings(options.config)
    log.configure(settings.log.level, settings.log.format)
    try:
        service.run(settings)
    except BadBundle as error:
        raise BadSettings(str(error)) from error
    return DONE


def status(options: argparse.Namespace) -> int:
    """Print how the agent is doing: a table on a terminal, JSON in a pipe; exit 1 if it is not running."""
    from edge_agent import status as command  # noqa: PLC0415 - as above

    return command.status(options.config, options.broker, options.form)


def check(options: argparse.Namespace) -> int:
    """Try what the agent needs: settings, bundles, state directory, brokers and clock; print all mistakes."""
    from edge_agent import check as command  # noqa: PLC0415 - as above

    return command.check(options.config, try_brokers=not options.no_broker, as_json=options.json)


def doctor(options: argparse.Namespace) -> int:
    """Compare each sensor with the others of its van; print what is wrong, with the evidence."""
    from edge_agent import doctor as command  # noqa: PLC0415 - as above

    return command.doctor(options.config, options.json)


def export(options: argparse.Namespace) -> int:
    """Print estimates, windows, the consensus or readings from the journal, also while the agent runs."""
    from edge_agent import export as command  # noqa: PLC0415 - as above
    from edge_agent.rows import Selection  # noqa: PLC0415 - as above

    if options.every != "15min" and options.what != "estimates":
        options.usage(f"--every {options.every}: expected --what estimates, got {options.what}")
    if options.format == "aqcsv" and options.what != "estimates":
        options.usage(f"--format aqcsv: expected --what estimates, got {options.what}")
    if options.sensor and options.what in ("consensus", "fixes"):
        options.usage(f"--sensor: expected it without --what {options.what}, which is of the whole van")
    if options.to_ms <= options.from_ms:
        since, until = format_time(options.from_ms), format_time(options.to_ms)
        options.usage(f"--to: expected a later time than --from, which is {since}, got {until}")
    selection = Selection(options.sensor, options.from_ms, options.to_ms)
    now_ms = time.time_ns() // 1_000_000
    return command.export(options.config, options.what, options.every, options.format, selection, now_ms)


def replay(options: argparse.Namespace) -> int:
    """Run a recording through the agent's pipeline; print one estimate per window as JSON lines."""
    if options.fixes and not options.config:
        options.usage("--fixes: expected --config, which has the sites")
    from edge_agent import replaying  # noqa: PLC0415 - numpy takes 0.1 s

    model = replaying.model_of(options.sensor, options.bundles)
    return replaying.replay(model, options.file, options.grace_s, options.config, options.fixes)


def inspect(options: argparse.Namespace) -> int:
    """Print what is in a bundle: a table on a terminal, its card and scaling as JSON in a pipe."""
    from edge_agent import bundles  # noqa: PLC0415 - as above
    from edge_agent.core.card import description, inspection  # noqa: PLC0415 - as above

    model, size_bytes = bundles.read(options.bundle), options.bundle.stat().st_size
    if options.json or not sys.stdout.isatty():
        print_json(inspection(model, size_bytes))
    else:
        print("\n".join(aligned(description(model, size_bytes))))
    return DONE


def _time(text: str) -> int:
    try:
        return parse_time(text)
    except (ValueError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"expected a time as 2024-02-01T10:15, got {text!r}") from error


def _grace(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of seconds from 0 on, got {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="edge-agent", description="Calibrate CO sensors on a gateway.")
    parser.add_argument("--version", action="version", version=f"edge-agent {version('respire-edge')}")
    parser.add_argument("--debug", action="store_true", help="show a traceback after a failure")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    for function in (run, status, check, doctor, export):
        command = _command(commands, function, f"edge-agent {function.__name__} --config edge-agent.toml")
        help_ = (
            "settings, default /etc/edge-agent/edge-agent.toml; files in edge-agent.d beside it override it"
        )
        command.add_argument("--config", type=Path, metavar="FILE", help=help_)
        if function is status:
            help_ = "ask the broker that gets the estimates, not the journal"
            command.add_argument("--broker", action="store_true", help=help_)
            forms = command.add_mutually_exclusive_group()
            metrics = "print metrics for Prometheus; exit 0 even if the agent is not running"
            for form, help_ in (("json", "print JSON on a terminal, too"), ("prometheus", metrics)):
                forms.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=help_)
        elif function is check:
            command.add_argument("--no-broker", action="store_true", help="do not connect to the brokers")
        if function in (check, doctor):
            command.add_argument("--json", action="store_true", help="print JSON on a terminal, too")
        elif function is export:
            _add_selection(command)

    command = _command(commands, replay, "edge-agent replay --bundles bundles --sensor 5A2D 5A2D.csv.gz")
    command.add_argument(
        "--bundles", type=Path, required=True, metavar="DIR", help="directory of bundles, or one bundle"
    )
    command.add_argument("--sensor", required=True, metavar="ID", help="the sensor of the recording")
    help_ = "settings of an agent: its name, coverage, unit, position and sites"
    command.add_argument("--config", type=Path, metavar="FILE", help=help_)
    help_ = "positions, as export --what fixes --format jsonl writes them"
    command.add_argument("--fixes", type=Path, metavar="FILE", help=help_)
    help_ = "seconds that a window waits for delayed readings after its end, default 60"
    command.add_argument("--grace-s", type=_grace, default=60, metavar="N", help=help_)
    command.add_argument(
        "file", type=Path, metavar="FILE", help="CSV, plain or .gz: timestamp,op1,op2,temperature"
    )

    command = _command(commands, inspect, "edge-agent inspect bundles/5A2D.bundle")
    command.add_argument("--json", action="store_true", help="print JSON on a terminal, too")
    command.add_argument("bundle", type=Path, metavar="BUNDLE", help="a bundle file")
    return parser


def _add_selection(command: argparse.ArgumentParser) -> None:
    help_ = "only rows that start at this time or later, such as 2024-02-01T10:15 (UTC)"
    command.add_argument("--from", dest="from_ms", type=_time, default=0, metavar="TIME", help=help_)
    help_ = "only rows that start before this time"
    command.add_argument("--to", dest="to_ms", type=_time, default=LAST_MS, metavar="TIME", help=help_)
    command.add_argument(
        "--sensor", action="append", default=[], metavar="ID", help="only this sensor; may be repeated"
    )
    command.add_argument("--what", choices=WHAT, default="estimates", help="default estimates")
    help_ = "csv (default); jsonl: one JSON map a line; aqcsv: for air quality agencies"
    command.add_argument("--format", choices=("csv", "jsonl", "aqcsv"), default="csv", help=help_)
    help_ = "15min (default): each window; 1h: hourly means; 8h: running 8-hour means"
    command.add_argument("--every", choices=("15min", "1h", "8h"), default="15min", help=help_)


def _command(commands: Any, function: Any, example: str) -> argparse.ArgumentParser:
    """A subcommand with the name and docstring of its function; --help ends with an example."""
    words = function.__doc__
    command: argparse.ArgumentParser = commands.add_parser(
        function.__name__,
        help=words,
        description=words,
        epilog=f"example: {example}",
    )
    command.set_defaults(command=function, usage=command.error)
    return command
