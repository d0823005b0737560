"""MQTT discovery for Home Assistant: which entities there are, and how it reads them from our topics."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from typing import Any

from edge_agent.commit import GroupCommit
from edge_agent.core.model import Model
from edge_agent.core.units import Conditions, PublishUnit
from edge_agent.journal import Journal
from edge_agent.publisher import Retain
from edge_agent.settings import Settings

FACT = "homeassistant"
MISSED = 2  # after so many windows or health reports without a message an entity is unavailable
LATE_S = 300  # how late a message may be
DETAILS = ("start", "end", "unit", "low", "high", "level", "quality", "reasons")  # of a value

Entity = dict[str, Any]


class Discovery:
    """The retained discovery messages of one agent; those that no longer apply are removed."""

    def __init__(self, settings: Settings, journal: Journal, commits: GroupCommit, retain: Retain) -> None:
        self._settings, self._commits, self._retain = settings, commits, retain
        before = json.loads(journal.fact(FACT) or "[]")
        self._published: dict[str, bytes] = dict.fromkeys(before, b"")

    def update(self, models: Iterable[Model]) -> None:
        """Publish what is new or changed; remove what an earlier run or model left."""
        found = dict(self._messages(models))
        for topic in self._published.keys() - found.keys():
            self._retain(topic, b"")
        for topic, payload in found.items():
            if self._published.get(topic) != payload:
                self._retain(topic, payload)
        if found.keys() != self._published.keys():
            self._commits.add_fact(FACT, json.dumps(sorted(found)))
        self._published = found

    def _messages(self, models: Iterable[Model]) -> Iterator[tuple[str, bytes]]:
        if self._settings.homeassistant is None:
            return
        node = f"{self._settings.homeassistant.discovery}/{{}}/{_slug(f'respire-{self._settings.agent}')}"
        entities = [*agent_entities(self._settings)]
        entities += [each for model in models for each in sensor_entities(self._settings, model)]
        for kind, name, entity in entities:
            yield f"{node.format(kind)}/{_slug(name)}/config", json.dumps(entity).encode()


def sensor_entities(settings: Settings, model: Model) -> Iterator[tuple[str, str, Entity]]:
    """The value of a sensor and whether its quality is poor; both from its newest estimate."""
    topics, sensor = settings.own_topics, model.sensor
    after_s = MISSED * settings.windows.length_s + LATE_S
    # A retained message looks new to Home Assistant, so the template asks how old its content is.
    is_new = f"as_timestamp(now()) - as_timestamp(value_json.end) < {after_s}"
    shared = {
        **_shared(settings, f"{settings.agent} {sensor}", sensor),
        "state_topic": topics.latest(sensor),
        "json_attributes_topic": topics.latest(sensor),
        "expire_after": after_s,
    }
    unit, to_ppm = _unit(settings, model)
    value = "value_json.value" if to_ppm in (None, 1.0) else f"(value_json.value * {to_ppm}) | round(6)"
    # After another unit was chosen, the retained estimate still has the old one.
    is_value = f"value_json.value is not none and value_json.unit == {json.dumps(unit)} and {is_new}"
    yield "sensor", f"{sensor}-value", {
        **shared,
        **_named(settings, sensor, model.gas),
        **({"device_class": "carbon_monoxide"} if to_ppm else {}),
        "unit_of_measurement": "ppm" if to_ppm else unit,
        "state_class": "measurement",
        "suggested_display_precision": 2,
        "value_template": f"{{{{ {value} if {is_value} else none }}}}",
        "json_attributes_template": _attributes(*DETAILS),
    }  # fmt: skip
    yield "binary_sensor", f"{sensor}-quality", {
        **shared,
        **_named(settings, sensor, "quality"),
        "device_class": "problem",
        "value_template": f"{{{{ ('OFF' if value_json.quality == 1 else 'ON') if {is_new} else none }}}}",
        "json_attributes_template": _attributes("quality", "reasons", "model"),
    }  # fmt: skip


def _unit(settings: Settings, model: Model) -> tuple[str, float | None]:
    """The unit of a sensor's estimates; and for CO the factor to ppm, the only unit of its device class."""
    publish = settings.estimates.unit
    unit = publish.unit if publish and publish.factor(model.gas, model.unit) else model.unit
    ppm = PublishUnit("ppm", Conditions(settings.estimates.temperature_c, settings.estimates.pressure_hpa))
    return unit, ppm.factor(model.gas, unit) if model.gas == "CO" else None


def agent_entities(settings: Settings) -> Iterator[tuple[str, str, Entity]]:
    """The connection of the agent, and diagnostics from its health."""
    topics = settings.own_topics
    status = {**_shared(settings, settings.agent), "entity_category": "diagnostic"}
    shared = {
        **status,
        "state_topic": topics.health,
        "expire_after": int(MISSED * settings.health.interval_s) + LATE_S,
    }
    del status["availability"]
    yield "binary_sensor", "status", {
        **status,
        **_named(settings, "", "connection"),
        "state_topic": topics.status,
        "device_class": "connectivity",
        "payload_on": "online",
        "payload_off": "offline",
    }  # fmt: skip
    yield "binary_sensor", "problems", {
        **shared,
        **_named(settings, "", "problems"),
        "device_class": "problem",
        "value_template": "{{ 'ON' if value_json.problems else 'OFF' }}",
        "json_attributes_topic": topics.health,
        "json_attributes_template": _attributes("problems"),
    }  # fmt: skip
    for name, value, more in (
        ("estimates waiting", "value_json.outbox.depth", {"state_class": "measurement"}),
        ("last report", "value_json.at", {"device_class": "timestamp"}),
        ("memory", "value_json.rss_bytes", {"device_class": "data_size", "unit_of_measurement": "B"}),
    ):
        named = _named(settings, "", name)
        yield "sensor", name, {**shared, **named, **more, "value_template": f"{{{{ {value} }}}}"}


def _shared(settings: Settings, device: str, sensor: str = "") -> Entity:
    """What every entity of a device has."""
    agent, ours = settings.agent, {"name": "respire-edge", "sw_version": version("respire-edge")}
    identifier = f"respire-{agent}"
    via = {"via_device": identifier} if sensor else {"sw_version": ours["sw_version"]}
    identifiers = [f"{identifier}-{sensor}" if sensor else identifier]
    return {
        "availability": [{"topic": settings.own_topics.status}],
        "qos": 1,
        "device": {"identifiers": identifiers, "name": device, "manufacturer": "respire-edge", **via},
        "origin": ours,
    }


def _named(settings: Settings, sensor: str, name: str) -> Entity:
    return {"name": name, "unique_id": f"respire {settings.agent} {sensor} {name}"}


def _attributes(*names: str) -> str:
    pairs = ", ".join(f"'{name}': value_json.{name}" for name in names)
    return f"{{{{ {{{pairs}}} | tojson }}}}"


def _slug(name: str) -> str:
    """A level that Home Assistant accepts; a name that must change gets a hash, so that none are the same.

    >>> _slug("5A2D-value"), _slug("5A 2D")
    ('5A2D-value', '5A_2D-7eb755')
    """
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    digits = hashlib.sha256(name.encode()).hexdigest()[:6]
    return name if plain == name else f"{plain}-{digits}"
