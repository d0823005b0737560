"""Settings from variables: they override the file key by key, and a wrong one is named."""

from pathlib import Path

import pytest

from edge_agent.core.errors import BadSettings
from edge_agent.settings import examine, load


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "edge-agent.toml"
    file.write_text("agent = 'van-1'\n[broker]\nport = 1884\nusername = 'van-1'\n[topics.sensors]\na = 'A'")
    return file


def test_a_variable_wins_over_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other keys of its table stay."""
    monkeypatch.setenv("EDGE_AGENT_AGENT", "van-2")
    monkeypatch.setenv("EDGE_AGENT_BROKER__HOST", "10.0.0.5")
    monkeypatch.setenv("EDGE_AGENT_TOPICS__SENSORS__B", "5A2D")
    settings = load(file)
    assert settings.agent == "van-2"
    assert (settings.broker.host, settings.broker.port) == ("10.0.0.5", 1884)
    assert settings.topics.sensors == {"a": "A", "b": "5A2D"}


def test_a_value_has_the_type_of_its_setting(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON only where a list or a table belongs: a text may look like JSON."""
    monkeypatch.setenv("EDGE_AGENT_BROKER__KEEPALIVE_S", "60")
    monkeypatch.setenv("EDGE_AGENT_BROKER__TLS", "true")
    monkeypatch.setenv("EDGE_AGENT_BROKER__CLIENT_ID", "[1]")
    monkeypatch.setenv("EDGE_AGENT_WINDOWS__GRACE_S", "1.5")
    monkeypatch.setenv("EDGE_AGENT_STATE", "/srv/state")
    monkeypatch.setenv("EDGE_AGENT_TOPICS__CHANNELS", '["op1", "temperature"]')
    monkeypatch.setenv("EDGE_AGENT_SITES", '[{"name": "depot", "latitude": 1, "longitude": 2}]')
    settings = load(file)
    broker = settings.broker
    assert (broker.keepalive_s, broker.tls, broker.client_id) == (60, True, "[1]")
    assert (settings.windows.grace_s, settings.state) == (1.5, Path("/srv/state"))
    assert settings.topics.channels == ("op1", "temperature")
    assert [site.name for site in settings.sites] == ["depot"]


def test_a_key_wins_over_its_whole_table(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is off by default can be set either way."""
    monkeypatch.setenv("EDGE_AGENT_UPLINK__PORT", "8883")
    monkeypatch.setenv("EDGE_AGENT_UPLINK", '{"host": "city", "port": 1883}')
    monkeypatch.setenv("EDGE_AGENT_CONSENSUS__PATIENCE_S", "60")
    settings = load(file)
    assert settings.uplink is not None
    assert settings.consensus is not None
    assert (settings.uplink.host, settings.uplink.port) == ("city", 8883)
    assert settings.consensus.patience_s == 60


def test_case_does_not_matter(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("edge_agent_Broker__Host", "10.0.0.5")
    assert load(file).broker.host == "10.0.0.5"


def test_a_variable_of_another_program_is_ignored(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`edge-agent check` reports those that look like ours."""
    before = load(file)
    monkeypatch.setenv("EDGE_AGENT_BROKR__HOST", "10.0.0.5")
    monkeypatch.setenv("BROKER__HOST", "10.0.0.6")
    assert load(file) == before


def test_an_unknown_key_of_a_table_is_an_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGE_AGENT_BROKER__HOSTT", "10.0.0.5")
    line = "EDGE_AGENT_BROKER__HOSTT: broker.hostt: no such setting; did you mean host?"
    assert examine(file) == (None, [line])


def test_a_wrong_variable_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the file, which has another port."""
    monkeypatch.setenv("EDGE_AGENT_BROKER__PORT", "0")
    with pytest.raises(BadSettings, match=r"^EDGE_AGENT_BROKER__PORT: broker\.port: expected greater than"):
        load(file)


def test_a_variable_that_is_no_json_is_one_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGE_AGENT_TOPICS__CHANNELS", "op1,op2")
    with pytest.raises(BadSettings, match=r"lists are written as JSON|topics\.channels: expected"):
        load(file)
