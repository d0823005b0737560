"""The command line as a person meets it: data on stdout, words on stderr, one line for a mistake."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from edge_agent.core import bundle
from edge_agent.core.messages import decode_estimate
from tests.conftest import make_model
from tests.edge_agent.core.test_pipeline import recording
from tests.support.processes import on_a_terminal, run_program


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "edge_agent", *map(str, arguments)]
    return run_program(command, capture_output=True, text=True)


@pytest.fixture
def bundles(tmp_path: Path) -> Path:
    directory = tmp_path / "bundles"
    directory.mkdir()
    (directory / "5A2D.bundle").write_bytes(bundle.encode(make_model()))
    return directory


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    rows: dict[int, dict[str, float]] = {}
    for _, channel, at_ms, value in recording(minutes=45):
        rows.setdefault(at_ms, {})[channel] = value
    lines = [f"{at_ms},{row['op1']},{row['op2']},{row['temperature']}" for at_ms, row in rows.items()]
    file = tmp_path / "5A2D.csv"
    file.write_text("\n".join(["timestamp,op1,op2,temperature", *lines]))
    return file


def test_replay_prints_one_estimate_per_window(bundles: Path, csv: Path) -> None:
    done = run("replay", "--bundles", bundles, "--sensor", "5A2D", csv)
    estimates = [decode_estimate(line.encode()) for line in done.stdout.splitlines()]
    assert [(e.sensor, e.quality, e.minutes["op1"]) for e in estimates] == [("5A2D", 1, 15)] * 3
    assert done.stderr == "replay: 3 windows from 135 accepted readings\n"
    assert done.returncode == 0


def test_replay_into_a_closed_pipe_is_quiet(bundles: Path, csv: Path) -> None:
    command = f"{sys.executable} -m edge_agent replay --bundles {bundles} --sensor 5A2D {csv} | true"
    done = run_program(["sh", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr


def test_inspect_prints_a_bundle_as_json(bundles: Path) -> None:
    done = run("inspect", bundles / "5A2D.bundle")
    shown = json.loads(done.stdout)
    assert (shown["sensor"], shown["support"], shown["kernel"]) == ("5A2D", 32, "matern32")
    assert shown["bytes"] == (bundles / "5A2D.bundle").stat().st_size
    assert done.returncode == 0


def test_inspect_prints_a_table_on_a_terminal(tmp_path: Path) -> None:
    file = tmp_path / "5A2D.bundle"
    day_ms = 86_400_000
    model = replace(
        make_model(),
        adapter=(1.04, -0.126),
        provenance={"dataset": "T-W\x1b[2J.csv", "r2_test": 0.941},
        calibrated_ms=19_000 * day_ms,
        valid_until_ms=19_180 * day_ms,
    )
    file.write_bytes(bundle.encode(model))
    code, text = on_a_terminal("inspect", str(file))
    assert (code, text.splitlines()) == (
        0,
        [
            "sensor       5A2D, CO in ppm, electrochemical",
            f"model        {bundle.decode(file.read_bytes(), '').id}, {file.stat().st_size} bytes",
            "windows      15 min",
            "trained on   'T-W\\x1b[2J.csv, R\\xb2 0.94 there'",
            "calibrated   2022-01-08, valid until 2022-07-07",
            "interval     90%, ± 0.12 ppm",
            "adapter      gain 1.04, offset -0.126 ppm",
            "transfer     none",
            "op1          trained from 180 to 300",
            "op2          trained from 170 to 240",
            "temperature  trained from 8 to 40",
        ],
    )
    assert json.loads(on_a_terminal("inspect", "--json", str(file))[1]) == json.loads(
        run("inspect", file).stdout
    )


def test_check_says_what_would_run(tmp_path: Path, bundles: Path) -> None:
    config = tmp_path / "edge-agent.toml"
    config.write_text(f'agent = "van-1"\nclock = "trusted"\nbundles = "{bundles}"\nstate = "{tmp_path}"\n')
    done = run("check", "--no-broker", "--config", config)
    shown = json.loads(done.stdout)
    assert (shown["agent"], list(shown["sensors"])) == ("van-1", ["5A2D"])
    assert done.stderr == "check: settings are valid, 1 bundle is valid\n"
    assert done.returncode == 0


def test_check_refuses_windows_of_another_length_than_in_training(tmp_path: Path, bundles: Path) -> None:
    config = tmp_path / "edge-agent.toml"
    config.write_text(
        f'clock = "trusted"\nbundles = "{bundles}"\nstate = "{tmp_path}"\n[windows]\nlength_s = 300\n'
    )
    done = run("check", "--no-broker", "--config", config)
    expected = (
        f"edge-agent: {bundles / '5A2D.bundle'}: trained for windows of 900 s, this agent's have 300 s; set "
        "length_s = 900 under [windows], or fit it with --window 5min"
    )
    assert (done.returncode, done.stderr.splitlines()) == (78, [expected])


def test_check_of_bad_settings_or_bundles_exits_78(tmp_path: Path, bundles: Path) -> None:
    config = tmp_path / "edge-agent.toml"
    config.write_text(f'clock = "trusted"\nbundles = "{bundles}"\n[broker]\nport = "x"\n')
    bad_settings = run("check", "--no-broker", "--config", config)
    config.write_text(f'clock = "trusted"\nbundles = "{bundles}"\n')
    (bundles / "5A2D.bundle").write_bytes(b"cut")
    bad_bundle = run("check", "--no-broker", "--config", config)
    assert (bad_settings.returncode, bad_bundle.returncode) == (78, 78)
    assert "broker.port: expected a valid integer" in bad_settings.stderr
    assert "not a bundle" in bad_bundle.stderr


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            "broker.username = 'v'\nbroker.password_file = '/no'",
            "edge-agent: /no: No such file or directory; ",
        ),
        (
            "broker.tls = true\nbroker.ca_file = '/no'",
            "edge-agent: /no: No such file or directory; expected PEM",
        ),
        (
            "broker.tls = true\nbroker.certificate_file = '/no'\nbroker.key_file = '{bundles}/5A2D.bundle'",
            "edge-agent: /no: No such file or directory; expected PEM files, and the key of this certificate",
        ),
        (
            "topics.channels = ['a', 'temperature']",
            "topics.channels: expected op1, op2 for the bundle of 5A2D",
        ),
        ("state = '{bundles}/5A2D.bundle'", "5A2D.bundle: expected a directory, got a file"),
    ],
)
def test_check_finds_what_run_would_stumble_over(
    tmp_path: Path, bundles: Path, settings: str, words: str
) -> None:
    config = tmp_path / "edge-agent.toml"
    config.write_text(
        f'clock = "trusted"\nbundles = "{bundles}"\n' + settings.replace("{bundles}", str(bundles))
    )
    done = run("check", "--no-broker", "--config", config)
    assert words in done.stderr
    assert (done.returncode, done.stdout) == (78, "")


def test_check_leaves_systemds_credentials_to_systemd(tmp_path: Path, bundles: Path) -> None:
    config = tmp_path / "edge-agent.toml"
    top = f'clock = "trusted"\nbundles = "{bundles}"\n'
    user = 'username = "v"\npassword_file = "broker-password"\n'
    config.write_text(f"{top}[broker]\n{user}[uplink]\nport = 8883\n{user}")
    done = run("check", "--no-broker", "--config", config)
    words = (
        "broker-password is a systemd credential of the service, so this broker is not tried; to try it, set"
    )
    assert done.stderr.splitlines()[:2] == [
        f"check: {words} EDGE_AGENT_{section}__PASSWORD_FILE to a file with the password"
        for section in ("BROKER", "UPLINK")
    ]
    assert done.returncode == 0


def test_rows_in_no_order_are_remarked_upon(bundles: Path, csv: Path) -> None:
    header, *rows = csv.read_text().splitlines()
    csv.write_text("\n".join([header, *reversed(rows)]))
    done = run("replay", "--bundles", bundles, "--sensor", "5A2D", csv)
    first, remark, *_ = done.stderr.splitlines()
    assert first.endswith(" too late readings")
    assert remark == "replay: readings that are too late are in no window; sort the rows by time"


@pytest.mark.parametrize("option", [["--grace-s", "-1"], ["--grace-s", "1min"]])
def test_an_impossible_grace_is_a_usage_error(bundles: Path, csv: Path, option: list[str]) -> None:
    done = run("replay", "--bundles", bundles, "--sensor", "5A2D", csv, *option)
    assert done.returncode == 2
    assert f"argument {option[0]}: expected" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["replay", "--bundles", "{bundles}", "--sensor", "5A2D", "no.csv"], 1,
         "edge-agent: no.csv: expected a recording, got no such file; check the path"),
        (["replay", "--bundles", "{bundles}", "--sensor", "5A2D", "{bundles}/5A2D.bundle"], 1,
         "edge-agent: {bundles}/5A2D.bundle: expected a recording, got a bundle; "
         "see edge-agent replay --help"),
        (["replay", "--bundles", "{bundles}", "--sensor", "D3EB", "{csv}"], 1,
         "edge-agent: {bundles}: expected a bundle for sensor D3EB, got 5A2D; "
         "make one with: model-export fit --sensor D3EB --out D3EB.bundle …"),
        (["inspect", "{csv}"], 1,
         "edge-agent: {csv}: not a bundle, or an incomplete one; copy or export it again"),
        (["inspect", "no.bundle"], 1,
         "edge-agent: no.bundle: No such file or directory; expected a bundle written by model-export"),
        (["check", "--config", "no.toml"], 78,
         "edge-agent: no.toml: No such file or directory; expected a settings file"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_clear_line(
    bundles: Path, csv: Path, arguments: list[str], code: int, text: str
) -> None:
    filled = [argument.format(bundles=bundles, csv=csv) for argument in arguments]
    done = run(*filled)
    assert done.stderr == text.format(bundles=bundles, csv=csv) + "\n"
    assert (done.stdout, done.returncode) == ("", code)


def test_a_traceback_only_with_debug(bundles: Path) -> None:
    assert "Traceback" in run("--debug", "inspect", "no.bundle").stderr


def test_usage_errors_exit_2_and_help_shows_an_example() -> None:
    assert run("replay").returncode == 2
    assert run().returncode == 2
    assert "example: edge-agent replay --bundles bundles" in " ".join(run("replay", "--help").stdout.split())


def test_an_unknown_option_shows_the_usage_of_its_command() -> None:
    done = run("check", "--no-brokers")
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr == (
        "usage: edge-agent check [-h] [--config FILE] [--no-broker] [--json]\n"
        "edge-agent check: error: unrecognized arguments: --no-brokers\n"
    )


def test_in_the_journal_the_last_line_is_an_error(tmp_path: Path) -> None:
    """`journalctl -p err` shows why a start was refused."""
    name = "import os; s = os.fstat(2); os.environ['JOURNAL_STREAM'] = f'{s.st_dev}:{s.st_ino}'\n"
    tell = name + "import sys; from edge_agent.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", tell, "run", "--config", str(tmp_path / "no.toml")]
    done = run_program(command, capture_output=True, text=True)
    assert done.returncode == 78
    assert done.stderr.startswith("<3>edge-agent: ")


def test_commands_import_only_what_they_need() -> None:
    """numpy costs 0.1 s and 14 MB, pydantic as much; a timer may ask for the status every minute."""
    for commands, library in (("export, status", "numpy"), ("replaying, cli", "pydantic")):
        program = f"import sys; from edge_agent import {commands}, cli; sys.exit({library!r} in sys.modules)"
        assert run_program([sys.executable, "-c", program]).returncode == 0, library
