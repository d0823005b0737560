"""`edge-agent check` tries what the agent needs, and says everything at once."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from edge_agent import cli
from edge_agent.core import bundle
from tests.conftest import make_model
from tests.support.broker import Broker, Mosquitto, wait_until
from tests.support.processes import on_a_terminal
from tests.support.users import NOBODY, needs_root, nobody, public_directory


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Settings with one bundle and a state directory; tests add to them."""
    for name in ("bundles", "state"):
        (tmp_path / name).mkdir()
    (tmp_path / "bundles" / "5A2D.bundle").write_bytes(bundle.encode(make_model()))
    file = tmp_path / "edge-agent.toml"
    file.write_text(
        f'agent = "van-1"\nclock = "trusted"\nbundles = "{tmp_path}/bundles"\nstate = "{tmp_path}/state"\n'
    )
    return file


def add(config: Path, text: str) -> None:
    config.write_text(config.read_text() + text)


def check(config: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, list[str]]:
    code = cli.main(["check", "--config", str(config), *options])
    return code, capsys.readouterr().err.splitlines()


def test_every_mistake_is_told_at_once(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(config, "[broker]\nport = 0\nhots = 'x'\n[windows]\nlength_s = 100\n")
    code, lines = check(config, capsys)
    assert code == 78
    assert lines == [
        f"edge-agent: {config}: broker.port: expected greater than or equal to 1, got 0",
        f"edge-agent: {config}: broker.hots: no such setting; did you mean host?",
        f"edge-agent: {config}: windows.length_s: expected a multiple of 60, got 100",
    ]


def test_bundles_secrets_and_state_are_told_at_once(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("A", "B"):
        (tmp_path / "bundles" / f"{name}.bundle").write_bytes(b"cut")
    (tmp_path / "state").rmdir()
    (tmp_path / "state").write_text("")
    add(config, "[broker]\nusername = 'v'\npassword_file = '/no'\n")
    code, lines = check(config, capsys)
    assert code == 78
    assert [line.split(":")[1].strip().removeprefix(str(tmp_path)) for line in lines] == [
        "/bundles/A.bundle",
        "/bundles/B.bundle",
        "/no",
        "state",
    ]


def test_a_misspelt_variable_is_named_with_the_right_one(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in os.environ if name.startswith("EDGE_AGENT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("EDGE_AGENT_BROKER_HOST", "x")
    monkeypatch.setenv("EDGE_AGENT_BUNDELS", "x")
    monkeypatch.setenv("EDGE_AGENT_JOURNAL__KEEP_DAYS", "7")
    code, lines = check(config, capsys, "--no-broker")
    assert (code, lines[:2]) == (
        1,
        [
            "edge-agent: EDGE_AGENT_BROKER_HOST: no such setting; did you mean EDGE_AGENT_BROKER__HOST?",
            "edge-agent: EDGE_AGENT_BUNDELS: no such setting; did you mean EDGE_AGENT_BUNDLES?",
        ],
    )


def test_no_bundle_is_a_fault(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bundles" / "5A2D.bundle").unlink()
    code, lines = check(config, capsys, "--no-broker")
    words = "expected at least one bundle; estimates will have no value"
    assert (code, lines[0]) == (1, f"edge-agent: {tmp_path / 'bundles'}: {words}")


def test_an_old_calibration_is_a_remark(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The agent works with it; the summary has the date of every sensor."""
    old = make_model(valid_until_ms=1_714_953_600_000)
    (tmp_path / "bundles" / "5A2D.bundle").write_bytes(bundle.encode(old))
    assert cli.main(["check", "--config", str(config), "--no-broker"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["sensors"]["5A2D"]["valid_until"] == "2024-05-06T00:00:00Z"
    assert err.splitlines() == [
        "check: the calibration of 5A2D was valid until 2024-05-06T00:00:00Z; its estimates have quality 3; "
        "fit or adapt it again",
        "check: settings are valid, 1 bundle is valid",
    ]


def test_a_terminal_gets_a_table(config: Path, tmp_path: Path) -> None:
    known = make_model(valid_until_ms=4_070_908_800_000)
    known = replace(known, provenance={"dataset": "5A2D_T-W.csv", "r2_test": 0.9312})
    (tmp_path / "bundles" / "5A2D.bundle").write_bytes(bundle.encode(known))
    add(config, "[position]\nlatitude = 28.6\nlongitude = 77.2\nsite = 'T'\n")
    code, text = on_a_terminal("check", "--config", str(config), "--no-broker")
    assert code == 0
    model = bundle.decode(bundle.encode(known)).id.removeprefix("sha256:")
    assert text.splitlines() == [
        "agent      van-1",
        "broker     127.0.0.1:1883",
        "uplink     none, estimates go to the broker",
        "readings   sensors/{sensor}/{channel} sensors/{sensor}",
        "estimates  respire/van-1/calibrated/+/co",
        "position   latitude 28.6, longitude 77.2, site T",
        f"state      {tmp_path}/state",
        "",
        "sensor  model             valid until  trained on    R² there",
        f"5A2D    {model}  2099-01-01   5A2D_T-W.csv  0.93",
    ]
    asked = on_a_terminal("check", "--config", str(config), "--no-broker", "--json")[1]
    assert json.loads(asked)["sensors"]["5A2D"]["r2_test"] == 0.9312


def test_a_broker_is_reached_and_left(
    config: Path, broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    add(config, f"[broker]\nhost = '{broker.host}'\nport = {broker.port}\n")
    well = 0, ["check: settings are valid, 1 bundle is valid"]
    wait_until(lambda: check(config, capsys) == well)  # a busy broker may answer too late


def test_a_broker_that_is_away_or_refuses_is_a_fault(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strict = Mosquitto(tmp_path / "strict", anonymous=False)
    add(config, f"[broker]\nport = {strict.port}\n")
    where = f"edge-agent: 127.0.0.1:{strict.port}"
    valid = "check: settings are valid, 1 bundle is valid"
    refused = 1, [f"{where}: not authorized; see username and password_file", valid]
    wait_until(lambda: check(config, capsys) == refused)
    strict.remove()
    away = check(config, capsys)
    skipped = check(config, capsys, "--no-broker")
    assert away == (1, [f"{where}: connection refused; does the broker run there?", valid])
    assert skipped == (0, [valid])


def test_the_kernels_clock_is_asked(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it answers here, check says the same."""
    from edge_agent.clock import Clock

    config.write_text(config.read_text().replace('"trusted"', '"kernel"'))
    code, lines = check(config, capsys, "--no-broker")
    faults = [line for line in lines if line.startswith("edge-agent: clock: the kernel says")]
    assert (code, len(faults)) == ((0, 0) if Clock().synchronised() else (1, 1))


@needs_root
def test_the_state_directory_is_tried_by_root_or_its_owner(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with public_directory() as directory:
        config.write_text(config.read_text().replace(f"{config.parent}/state", str(directory)))
        os.chown(directory, NOBODY, NOBODY)
        assert check(config, capsys, "--no-broker")[0] == 0
        (directory / "journal.db").write_text("")  # as after `sudo edge-agent run`
        code, lines = check(config, capsys, "--no-broker")
        assert code == 78
        assert f"{directory}/journal.db: expected the owner of its directory, got another" in lines[0]
        assert list(directory.iterdir()) == [directory / "journal.db"]


@needs_root
def test_another_user_is_told_who_can_check_the_state_directory(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with public_directory() as directory:
        for name in ("bundles", "state"):
            (directory / name).mkdir()
        (directory / "bundles" / "5A2D.bundle").write_bytes(bundle.encode(make_model()))
        public = directory / "edge-agent.toml"
        public.write_text(config.read_text().replace(str(config.parent), str(directory)))
        check(public, capsys, "--no-broker")
        with nobody():
            code, lines = check(public, capsys, "--no-broker")
        words = "belongs to another user; only that user or root can check it"
        assert (code, lines[0]) == (0, f"check: {directory}/state {words}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("[position]\ntopic = 'van/position'", {"topic": "van/position", "sites": []}),
        (
            "[position]\nlatitude = 52.5\nlongitude = 13.4\nsite = 'T'",
            {"latitude": 52.5, "longitude": 13.4, "site": "T"},
        ),
    ],
)
def test_the_position_is_shown(
    config: Path, text: str, expected: object, capsys: pytest.CaptureFixture[str]
) -> None:
    add(config, text)
    assert cli.main(["check", "--config", str(config), "--no-broker"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["position"] == expected


def test_a_unit_that_cannot_be_converted_is_named(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(config, "[estimates]\npublish_unit = 'mg/m3'")
    for file in tmp_path.rglob("*.bundle"):
        file.write_bytes(bundle.encode(make_model(unit="mV")))
    cli.main(["check", "--config", str(config), "--no-broker"])
    words = "estimates of 5A2D keep their unit: CO in mV cannot be converted to mg/m3"
    assert f"check: {words}" in capsys.readouterr().err
