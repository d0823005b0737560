"""Settings: one documented file, overrides from the environment, one line for what is wrong."""

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from edge_agent.core.errors import BadSettings
from edge_agent.settings import Broker, Settings, examine, load, secret
from tests.support.users import needs_root, nobody, public_directory

EXAMPLE = Path(__file__).parents[2] / "deploy" / "edge-agent.toml"


def uncommented() -> dict[str, object]:
    """The example with its optional keys switched on."""
    return tomllib.loads(re.sub(r"^# (?=\[|\w+ = )", "", EXAMPLE.read_text(), flags=re.MULTILINE))


def test_the_example_file_shows_every_setting_and_no_other() -> None:
    table = uncommented()
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            assert set(table[name]) == set(section.model_fields), name  # type: ignore[call-overload]
    assert set(table) == set(Settings.model_fields)


def test_the_example_file_shows_the_defaults() -> None:
    settings = load(EXAMPLE)
    assert settings == Settings(agent="van-1")
    assert settings.agent == "van-1"


def test_deeply_nested_settings_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "deep.toml"
    file.write_text("agent = " + "[" * 30_000)
    with pytest.raises(BadSettings, match=r"deep\.toml: .*; expected TOML"):
        load(file)
    monkeypatch.setenv("EDGE_AGENT_TOPICS__CHANNELS", "[" * 100_000)
    with pytest.raises(BadSettings, match="environment: "):
        load()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            "[[alerts]]\nname = 'a'\nabove = 1.0\nbelow = 2.0",
            "alerts.0: expected below not to be higher than above",
        ),
        (
            "[[alerts]]\nname = 'a'\nabove = 1.0\nbelow = 0.5\n" * 2,
            "alerts: expected a different name for each alert",
        ),
        ("[journal]\nkeep_days = inf", "journal.keep_days: expected less than or equal to 1000000, got inf"),
        (
            "[journal]\nkeep_days = 1",
            "journal: expected keep_days to be longer than final_h of windows (24 h)",
        ),
        (
            "[broker]\nport = 'x'",
            "broker.port: expected a valid integer, got 'x'",
        ),
        ("[broker]\nport = 0", "broker.port: expected greater than or equal to 1, got 0"),
        (
            "[broker]\nhost = 'mqtt://x'",
            "broker.host: expected a name or an address, without mqtt:// and without a port, got 'mqtt://x'",
        ),
        (
            "[broker]\nhost = 'van..local'",
            "broker.host: expected a name without empty parts, and none over 63 letters, got 'van..local'",
        ),
        (
            "[topics]\nroot = 'sensors/{agent}'",
            "topics: expected root apart from sensors/{sensor}/{channel}, or the agent reads itself",
        ),
        ("[broker]\nhots = 'x'", "broker.hots: no such setting; did you mean host?"),
        ("[uplink]\nhots = 'x'", "uplink.hots: no such setting; did you mean host?"),
        ("[brokr]\nhost = 'x'", "brokr: no such setting; did you mean broker?"),
        ("[windows]\nlength_s = 100", "windows.length_s: expected a multiple of 60, got 100"),
        (
            "[journal]\ndurability = 'yes'",
            "journal.durability: expected 'power-loss' or 'process-crash', got 'yes'",
        ),
        ("agent = 'a/b'", "agent: expected 1-64 printable characters without / + #, got 'a/b'"),
        (
            "[topics]\nroot = 'co'",
            "topics.root: expected a topic with {agent} as one of its levels, got 'co'",
        ),
        (
            "[topics]\nroot = 'x-{agent}/+'",
            "topics.root: expected a topic with {agent} as one of its levels, got 'x-{agent}/+'",
        ),
        (
            "[topics]\nroot = '{agent}/+'",
            "topics.root: expected a topic without + # $ or other braces, got '{agent}/+'",
        ),
        ("[topics]\nreadings = ['x/#']", "topics: 'x/#': expected {sensor} once and {channel} at most once"),
        ("[broker]\npassword_file = 'x'", "broker: expected a username beside password_file"),
        ("[uplink]\nport = 1883", "uplink: expected another host, port or client_id than in broker"),
        (
            "agent = 'van-1'\n[uplink]\nclient_id = 'respire-van-1'",
            "uplink: expected another host, port or client_id than in broker",
        ),
        ("[broker]\nca_file = 'x'", "broker: expected tls = true beside ca_file or certificate_file"),
        (
            "[homeassistant]\ndiscovery = 'ha//x'",
            "homeassistant.discovery: expected at most 128 letters, digits, - and _, "
            "with single slashes between them, got 'ha//x'",
        ),
        (
            "[[sites]]\nname = 'T'\nlatitude = 0\nlongitude = 0\naqs = '84006037110x'",
            "sites.0.aqs: expected 12 digits or capital letters, got '84006037110x'",
        ),
        ("[position]\nlatitude = 91", "position.latitude: expected less than or equal to 90, got 91"),
        ("[position]\nlatitude = 52.5", "position: expected latitude and longitude together"),
        (
            "[position]\nlatitude = 52.5\nlongitude = 13.4\ntopic = 'van'",
            "position: expected either latitude and longitude, or topic",
        ),
        ("[position]\nsite = 'T'", "position: expected latitude and longitude beside site or elevation_m"),
        (
            "[position]\ntopic = 'owntracks/+/van'",
            "position.topic: expected one topic of printable characters, without + and #, "
            "got 'owntracks/+/van'",
        ),
        ("[position]\ntopic = 'sensors/van'", "position: expected a topic apart from those of readings"),
        (
            "agent = 'van-1'\n[position]\ntopic = 'respire/van-1/position'",
            "position: expected a topic that the agent does not publish itself",
        ),
        ("[topics.fields]\nop3 = 'x'", "topics: expected at or a channel in fields, got op3"),
        ("[topics.fields.op1]\nky = 'x'", "topics.fields.op1.key: expected a value, got none"),
        (
            "[topics.sensors]\na = 'S'\nb = 'S'",
            "topics: expected a different name for each of sensors",
        ),
        ("[[sites]]\nnam = 'T'", "sites.0.name: expected a value, got none"),
        (
            "[broker]\nhost = '10.0.0.5:1883'",
            "broker.host: expected a name or an address, without mqtt:// and without a port, "
            "got '10.0.0.5:1883'",
        ),
        (
            "[broker]\nport = 1\nclock = 'kernel'",
            "broker.clock: no such setting; write clock above the first [section]",
        ),
        ("[topics]\nreadings = 'a/{sensor}'", "topics.readings: expected a list in [ ], got 'a/{sensor}'"),
        ("[alerts]\nname = 'a'", "alerts: expected a list; write [[alerts]]"),
        (
            "agent = ",
            "Invalid value (at end of document); expected TOML in UTF-8, texts in quotes and each key once",
        ),
    ],
)
def test_a_wrong_setting_is_one_line_with_the_key(tmp_path: Path, content: str, text: str) -> None:
    file = tmp_path / "edge-agent.toml"
    file.write_text(content)
    with pytest.raises(BadSettings) as caught:
        load(file)
    assert str(caught.value) == f"{file}: {text}"


@pytest.mark.parametrize("other", ["host = 'city'", "port = 1884", "client_id = 'van-1-up'"])
def test_an_uplink_may_be_anything_but_the_very_same_session(tmp_path: Path, other: str) -> None:
    file = tmp_path / "edge-agent.toml"
    file.write_text(f"[uplink]\n{other}")
    assert load(file).uplink


def test_files_of_the_folder_override_the_file_key_by_key(tmp_path: Path) -> None:
    """In the order of their names; other files in the folder do not count."""
    file = tmp_path / "edge-agent.toml"
    file.write_text("agent = 'van-1'\n[broker]\nhost = 'a'\nport = 1884")
    (tmp_path / "edge-agent.d").mkdir()
    for name, content in {
        "20.toml": "[broker]\nhost = 'c'",
        "10.toml": "agent = 'van-2'\n[broker]\nhost = 'b'\nkeepalive_s = 60",
        "30.toml.dpkg-old": "agent = 'no'",
        ".40.toml": "agent = 'no'",
    }.items():
        (tmp_path / "edge-agent.d" / name).write_text(content)
    settings = load(file)
    broker = settings.broker
    assert (settings.agent, broker.host, broker.port, broker.keepalive_s) == ("van-2", "c", 1884, 60)


def test_a_mistake_names_the_file_of_the_folder_that_made_it(tmp_path: Path) -> None:
    file, folder = tmp_path / "edge-agent.toml", tmp_path / "edge-agent.d"
    file.write_text("[broker]\nport = 0\n[windows]\nlength_s = 100")
    folder.mkdir()
    (folder / "van.toml").write_text("[broker]\nport = 'x'\npassword_file = 'y'")
    settings, mistakes = examine(file)
    assert settings is None
    assert [line.partition(": ")[0] for line in mistakes] == [str(folder / "van.toml"), str(file)]
    (folder / "van.toml").write_text("[broker]\nport = 1\npassword_file = 'y'")
    assert examine(file)[1][0] == f"{folder / 'van.toml'}: broker: expected a username beside password_file"


def test_a_file_of_the_folder_that_is_no_toml_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "edge-agent.d").mkdir()
    (tmp_path / "edge-agent.toml").write_text("agent = 'van-1'")
    (tmp_path / "edge-agent.d" / "van.toml").write_text("agent = ")
    with pytest.raises(BadSettings, match=r"edge-agent\.d/van\.toml: .*; expected TOML"):
        load(tmp_path / "edge-agent.toml")


def test_a_file_may_begin_with_the_mark_that_windows_writes(tmp_path: Path) -> None:
    file = tmp_path / "edge-agent.toml"
    file.write_text("agent = 'van-1'", encoding="utf-8-sig")
    assert load(file).agent == "van-1"


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"no\.toml: No such file or directory; expected a settings file"):
        load(tmp_path / "no.toml")


@needs_root
def test_a_file_that_may_not_be_read_is_one_line() -> None:
    with public_directory() as directory:
        file = directory / "edge-agent.toml"
        file.touch(mode=0o600)
        with nobody(), pytest.raises(BadSettings) as caught:
            load(file)
        assert str(caught.value) == f"{file}: Permission denied; try sudo"


def test_a_secret_is_a_file_or_a_systemd_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broker-password").write_text("s3cret\nignored\n")
    assert secret(tmp_path / "broker-password") == "s3cret"
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert secret(Path("broker-password")) == "s3cret"
    with pytest.raises(BadSettings, match="expected a file with the password in its first line"):
        secret(Path("other"))
    monkeypatch.delenv("CREDENTIALS_DIRECTORY")
    with pytest.raises(BadSettings) as caught:
        secret(Path("other"))
    assert str(caught.value) == (
        "other: expected a file, got none; a systemd credential is only for the service, "
        "so set EDGE_AGENT_BROKER__PASSWORD_FILE (or UPLINK) to a file with the password"
    )


def test_settings_never_hold_a_password() -> None:
    """Only the path of one, so that no log or dump of settings can show it."""
    assert not [name for name in Broker.model_fields if "password" in name and not name.endswith("_file")]


def test_no_setting_uses_the_regular_expressions_of_pydantic() -> None:
    """A single one takes 1 MB for as long as the agent runs."""
    assert "'pattern'" not in str(Settings.model_json_schema())
