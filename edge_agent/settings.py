"""Settings from TOML files and EDGE_AGENT_… variables."""

import os
import socket
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from edge_agent import mistakes
from edge_agent.core import messages
from edge_agent.core.errors import BadSettings
from edge_agent.core.messages import CHANNELS, TEMPLATES, Decoder, topic_filter
from edge_agent.core.topics import ROOT, OwnTopics
from edge_agent.core.units import Conditions, PublishUnit
from edge_agent.settings_files import Merged
from edge_agent.settings_sections import (
    Alert,
    Health,
    HomeAssistant,
    Journal,
    Limits,
    Log,
    Position,
    Reference,
    Section,
    Site,
    Windows,
)
from edge_agent.settings_values import AgentTopic, Host, Name

DEFAULT_FILE = Path("/etc/edge-agent/edge-agent.toml")


def _reaches(filter_: str, root: str) -> bool:
    """Whether a filter of MQTT has topics below a root."""
    levels, above = filter_.split("/"), root.split("/")
    return len(levels) > len(above) and all(
        level in ("+", its) for level, its in zip(levels, above, strict=False)
    )


def _overlap(one: str, other: str) -> bool:
    """Whether a topic can match both filters; neither has #."""
    levels, others = one.split("/"), other.split("/")
    same = (mine == its or "+" in (mine, its) for mine, its in zip(levels, others, strict=False))
    return len(levels) == len(others) and all(same)


class Broker(Section):
    """One MQTT broker and its credentials."""

    host: Host = "127.0.0.1"
    port: int = Field(1883, ge=1, le=65_535)
    status_port: int | None = Field(None, ge=1, le=65_535)
    client_id: str | None = Field(None, max_length=128)
    protocol: Literal["3.1.1", "5"] = "3.1.1"
    keepalive_s: int = Field(30, ge=5, le=3_600)
    username: str | None = None
    password_file: Path | None = None
    tls: bool = False
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None

    @model_validator(mode="after")
    def _complete(self) -> "Broker":
        if self.password_file and not self.username:
            raise ValueError("expected a username beside password_file")
        if (self.ca_file or self.certificate_file) and not self.tls:
            raise ValueError("expected tls = true beside ca_file or certificate_file")
        if bool(self.certificate_file) != bool(self.key_file):
            raise ValueError("expected certificate_file and key_file together")
        return self

    def session(self, agent: str) -> tuple[str, int, str]:
        """Host, port and client id; of two connections with the same three a broker closes one."""
        return self.host, self.port, self.client_id or f"respire-{agent}"


class Uplink(Broker):
    """Where estimates go; only with MQTT 5 does a broker report that it refuses one."""

    protocol: Literal["3.1.1", "5"] = "5"


class Mapped(Section):
    """Where a value is in a message of another shape, and how it becomes a reading."""

    key: str = Field(min_length=1, max_length=256)
    scale: float = Field(1, ge=-1e9, le=1e9)
    offset: float = Field(0, ge=-1e9, le=1e9)


def _with_key(value: Any) -> Any:
    return {"key": value} if isinstance(value, str) else value


class Topics(Section):
    """Where readings come from, and the root of what the agent publishes; a name in braces is a level."""

    readings: tuple[str, ...] = Field(TEMPLATES, min_length=1, max_length=16)
    channels: tuple[Name, ...] = Field(CHANNELS, min_length=2, max_length=16)
    root: AgentTopic = ROOT
    fields: dict[str, Annotated[Mapped, BeforeValidator(_with_key)]] = Field({}, max_length=17)
    sensors: dict[str, Name] = Field({}, max_length=1_000)

    def decoder(self, max_bytes: int = 8_192) -> Decoder:
        """What turns messages on these topics into readings."""
        fields = {
            name: messages.Field(tuple(each.key.split(".")), each.scale, each.offset)
            for name, each in self.fields.items()
        }
        return Decoder(self.readings, self.channels, max_bytes, fields, self.sensors)

    @model_validator(mode="after")
    def _apart(self) -> "Topics":
        self.decoder()
        if unknown := self.fields.keys() - {"at", *self.channels}:
            raise ValueError(f"expected at or a channel in fields, got {min(unknown)}")
        if len({*self.sensors.values()}) < len(self.sensors):
            raise ValueError("expected a different name for each of sensors")
        for template in self.readings:
            if _reaches(topic_filter(template), self.root):
                raise ValueError(f"expected root apart from {template}, or the agent reads itself")
        return self


class Estimates(Section):
    """Means over hours; the unit, None is the model's; the conditions say what a cubic metre of air is."""

    means: bool = False
    publish_unit: Literal["ppm", "ppb", "mg/m3", "ug/m3"] | None = None
    temperature_c: float = Field(20, ge=-50, le=60)
    pressure_hpa: float = Field(1013.25, ge=300, le=1_100)

    @property
    def conditions(self) -> Conditions:
        """What a cubic metre of air is."""
        return Conditions(self.temperature_c, self.pressure_hpa)

    @property
    def unit(self) -> PublishUnit | None:
        """The unit with its conditions."""
        return PublishUnit(self.publish_unit, self.conditions) if self.publish_unit else None


class Consensus(Section):
    """One estimate for all sensors of the van, which are in the same air; no sensors mean all."""

    patience_s: float = Field(600, ge=0, le=86_400)
    sensors: tuple[Name, ...] = ()
    false_alarms_a_year: float = Field(1, ge=0.001, le=100)  # of each sensor

    def takes(self, sensor: str) -> bool:
        """Whether a sensor may take part."""
        return not self.sensors or sensor in self.sensors


class Settings(BaseSettings):
    """Everything an operator can set; deploy/edge-agent.toml shows all of it."""

    model_config = SettingsConfigDict(
        env_prefix=mistakes.PREFIX,
        env_nested_delimiter=mistakes.LEVEL,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    agent: Name = Field(default_factory=socket.gethostname)
    bundles: Path = Path("/etc/edge-agent/bundles")
    state: Path = Path("/var/lib/edge-agent")
    clock: Literal["kernel", "trusted"] = "kernel"
    broker: Broker = Broker()
    uplink: Uplink | None = None
    topics: Topics = Topics()
    windows: Windows = Windows()
    estimates: Estimates = Estimates()
    consensus: Consensus | None = None
    reference: Reference | None = None
    position: Position = Position()
    sites: tuple[Site, ...] = Field((), max_length=1_000)
    journal: Journal = Journal()
    limits: Limits = Limits()
    health: Health = Health()
    alerts: tuple[Alert, ...] = Field((), max_length=16)
    homeassistant: HomeAssistant | None = None
    log: Log = Log()

    @field_validator("uplink")
    @classmethod
    def _another_session(cls, uplink: Uplink | None, others: ValidationInfo) -> Uplink | None:
        agent, broker = others.data.get("agent"), others.data.get("broker")
        if uplink and agent and broker and uplink.session(agent) == broker.session(agent):
            raise ValueError("expected another host, port or client_id than in broker")
        return uplink

    @field_validator("alerts")
    @classmethod
    def _different_names(cls, alerts: tuple[Alert, ...]) -> tuple[Alert, ...]:
        if len({alert.name for alert in alerts}) < len(alerts):
            raise ValueError("expected a different name for each alert")
        return alerts

    @field_validator("reference")
    @classmethod
    def _another_reference(cls, reference: Reference | None, others: ValidationInfo) -> Reference | None:
        topics, agent = others.data.get("topics"), others.data.get("agent")
        if reference and topics and agent:
            filter_ = topic_filter(reference.topic)
            if any(_overlap(filter_, topic_filter(template)) for template in topics.readings):
                raise ValueError("expected a topic apart from those of readings")
            if _reaches(filter_, topics.root.format(agent=agent)):
                raise ValueError("expected a topic that the agent does not publish itself")
        return reference

    @field_validator("journal")
    @classmethod
    def _long_enough(cls, journal: Journal, others: ValidationInfo) -> Journal:
        windows = others.data.get("windows")
        if windows and journal.keep_days * 24 <= windows.final_h:
            words = f"expected keep_days to be longer than final_h of windows ({windows.final_h:g} h)"
            raise ValueError(words)
        return journal

    @field_validator("position")
    @classmethod
    def _another_topic(cls, position: Position, others: ValidationInfo) -> Position:
        topics, agent = others.data.get("topics"), others.data.get("agent")
        if not (position.topic and topics and agent):
            return position
        if topics.decoder().takes(position.topic):
            raise ValueError("expected a topic apart from those of readings")
        if position.topic.startswith(topics.root.format(agent=agent) + "/"):
            raise ValueError("expected a topic that the agent does not publish itself")
        return position

    @property
    def own_topics(self) -> OwnTopics:
        """Where this agent publishes."""
        return OwnTopics(self.topics.root.format(agent=self.agent))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Variables override the file, whose values are passed as arguments."""
        return env_settings, init_settings


def load(file: Path | None = None) -> Settings:
    """The settings of a file (or of the installed one, or the defaults), overridden by the environment."""
    settings, found = examine(file)
    if settings is None:
        raise BadSettings(found[0])
    return settings


def examine(file: Path | None = None) -> tuple[Settings | None, list[str]]:
    """The settings, or None and every mistake in them."""
    try:
        files = Merged(file or DEFAULT_FILE, needed=file is not None)
        try:
            return Settings(**files.table), []
        except ValidationError as error:
            return None, mistakes.describe(error, files.source, Settings)
    except (SettingsError, RecursionError) as error:
        return None, [f"environment: {error}; lists are written as JSON"]
    except BadSettings as error:
        return None, [str(error)]


def unknown_variables() -> list[str]:
    """EDGE_AGENT_… variables that set nothing, each with the nearest name that does."""
    return mistakes.unknown_variables(Settings)


def secret(file: Path) -> str:
    """The first line of a secret file; a relative name is a systemd credential."""
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    path = Path(directory) / file if directory and not file.is_absolute() else file
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError) and not path.is_absolute():
            raise BadSettings(
                f"{path}: expected a file, got none; a systemd credential is only for the service, "
                "so set EDGE_AGENT_BROKER__PASSWORD_FILE (or UPLINK) to a file with the password"
            ) from None
        reason = getattr(error, "strerror", None) or "not text"
        raise BadSettings(f"{path}: {reason}; expected a file with the password in its first line") from error
