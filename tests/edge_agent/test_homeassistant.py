"""Discovery for Home Assistant: what is published, and what is removed when it no longer applies."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from edge_agent.commit import GroupCommit
from edge_agent.homeassistant import Discovery, agent_entities, sensor_entities
from edge_agent.journal import FILE, Journal
from edge_agent.settings import Estimates, Settings
from edge_agent.settings_sections import HomeAssistant
from tests.conftest import make_model
from tests.support.processes import run_program

SETTINGS = Settings(agent="van-1", homeassistant=HomeAssistant())


class Retained:
    """The retained messages of a broker."""

    def __init__(self) -> None:
        self.messages: dict[str, bytes] = {}

    def retain(self, topic: str, payload: bytes) -> None:
        self.messages[topic] = payload
        if not payload:
            del self.messages[topic]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / FILE, 900_000)) as made:
        yield made


def discover(journal: Journal, retained: Retained, settings: Settings, *sensors: str) -> Discovery:
    """What an agent does at its start, and its next commit."""
    commits = GroupCommit(journal, "boot", 1_000, 20)
    discovery = Discovery(settings, journal, commits, retained.retain)
    discovery.update(make_model(sensor) for sensor in sensors)
    commits.commit(0)
    return discovery


def entities(settings: Settings, **changes: Any) -> dict[str, dict[str, Any]]:
    made = (*agent_entities(settings), *sensor_entities(settings, make_model(**changes)))
    return {name: entity for _, name, entity in made}


def test_a_value_has_its_class_its_unit_and_an_age() -> None:
    value = entities(SETTINGS)["5A2D-value"]
    assert value["device_class"] == "carbon_monoxide"
    assert (value["unit_of_measurement"], value["state_class"]) == ("ppm", "measurement")
    assert value["state_topic"] == "respire/van-1/calibrated/5A2D/co/latest"
    assert value["expire_after"] == 2_100
    assert "as_timestamp(value_json.end) < 2100" in value["value_template"]
    assert value["availability"] == [{"topic": "respire/van-1/status"}]


@pytest.mark.parametrize(
    ("unit", "published", "value"),
    [
        ("ppm", None, "{{ value_json.value if"),
        ("ppb", None, "{{ (value_json.value * 0.001) | round(6) if"),
        ("ppb", "ppm", "{{ value_json.value if"),
        ("ppm", "mg/m3", "{{ (value_json.value * 0.85"),
    ],
)
def test_home_assistant_gets_ppm_from_any_unit_of_carbon_monoxide(
    unit: str, published: str | None, value: str
) -> None:
    estimates = Estimates(publish_unit=published)
    found = entities(SETTINGS.model_copy(update={"estimates": estimates}), unit=unit)["5A2D-value"]
    assert (found["unit_of_measurement"], found["device_class"]) == ("ppm", "carbon_monoxide")
    assert found["value_template"].startswith(value)
    assert f'value_json.unit == "{published or unit}"' in found["value_template"]


def test_another_gas_or_unit_has_no_device_class() -> None:
    for changes in ({"unit": "mV"}, {"gas": "NO2"}):
        value = entities(SETTINGS, **changes)["5A2D-value"]
        assert (value["unit_of_measurement"], value.get("device_class")) == (changes.get("unit", "ppm"), None)


def test_quality_is_a_problem_and_health_is_diagnostic() -> None:
    found = entities(SETTINGS)
    assert found["5A2D-quality"]["device_class"] == "problem"
    diagnostic = [name for name, each in found.items() if each.get("entity_category") == "diagnostic"]
    assert diagnostic == ["status", "problems", "estimates waiting", "last report", "memory"]
    assert len({each["unique_id"] for each in found.values()}) == len(found)


def test_a_withdrawn_bundle_is_removed(journal: Journal) -> None:
    retained = Retained()
    discovery = discover(journal, retained, SETTINGS, "5A2D", "D3EB")
    assert len(retained.messages) == 5 + 2 * 2
    assert json.loads(retained.messages["homeassistant/sensor/respire-van-1/5A2D-value/config"])
    discovery.update([make_model("D3EB")])
    assert len(retained.messages) == 5 + 2
    assert not any("5A2D" in topic for topic in retained.messages)


@pytest.mark.parametrize(
    ("later", "left"),
    [
        (SETTINGS, 5),
        (Settings(agent="van-1"), 0),
        (Settings(agent="van-1", homeassistant=HomeAssistant(discovery="ha")), 5),
    ],
)
def test_what_an_earlier_run_published_is_removed(journal: Journal, later: Settings, left: int) -> None:
    """A bundle that went while the agent was off, discovery switched off, another prefix."""
    retained = Retained()
    discover(journal, retained, SETTINGS, "5A2D")
    discover(journal, retained, later)
    assert len(retained.messages) == left
    discover(journal, retained, later)
    assert len(retained.messages) == left


def test_an_agent_loads_only_what_it_needs() -> None:
    """No integration that is off, and nothing that only a mistake in the settings needs."""
    code = "import sys, edge_agent.agent, edge_agent.status; print(*sys.modules)"
    done = run_program([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    integrations = {f"edge_agent.{name}" for name in ("alerting", "homeassistant", "prometheus")}
    assert {*integrations, "difflib"}.isdisjoint(done.stdout.split())


def test_an_unchanged_model_is_not_published_again(journal: Journal) -> None:
    retained = Retained()
    discovery = discover(journal, retained, SETTINGS, "5A2D")
    retained.messages.clear()
    discovery.update([make_model("5A2D")])
    assert retained.messages == {}
