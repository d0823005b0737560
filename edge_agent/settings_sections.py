"""Tables of the settings that need no other table."""

from collections.abc import Container
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from edge_agent.core import windows
from edge_agent.core.windows import COVERAGE
from edge_agent.settings_values import AqsSite, Count, DiscoveryTopic, GasTopic, Name, OneTopic, Positive


class Section(BaseModel):
    """A table of the file; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Windows(Section):
    """How readings become windows."""

    length_s: int = Field(900, ge=60, le=86_400, multiple_of=60)
    grace_s: float = Field(60, ge=0, le=86_400)
    patience_s: float = Field(120, ge=0, le=86_400)
    future_s: Positive = 300
    coverage: float = Field(COVERAGE, ge=0, le=1)
    max_readings: Count | None = None  # two a second
    revise_after_s: float = Field(600, ge=0, le=86_400)
    final_h: float = Field(24, ge=0, le=168)

    def machine(
        self, served: Container[str] | None = None, max_total: int = windows.MAX_TOTAL
    ) -> windows.Windows:
        """Windows with these settings, see there; `served` are the sensors with a bundle."""
        return windows.Windows(
            length_ms=self.length_s * 1000,
            grace_ms=int(self.grace_s * 1000),
            patience_ms=int(self.patience_s * 1000),
            future_ms=int(self.future_s * 1000),
            max_readings=self.max_readings,
            max_total=max_total,
            served=served,
        )


class Reference(Section):
    """A reference instrument beside the van: where its values come from, and their unit."""

    topic: GasTopic = "reference/{gas}"
    unit: Literal["ppm", "ppb", "mg/m3", "ug/m3"] = "ppm"


class Position(Section):
    """Where the agent is: fixed, or from a topic; neither is the default."""

    latitude: float | None = Field(None, ge=-90, le=90)
    longitude: float | None = Field(None, ge=-180, le=180)
    site: Name | None = None
    elevation_m: float | None = Field(None, ge=-500, le=9_000)
    topic: OneTopic | None = None
    moving_kmh: float = Field(5, ge=0, le=1_000)
    moving_m: float = Field(100, ge=0, le=1_000_000)
    hold_s: float = Field(3_600, ge=0, le=86_400)

    @model_validator(mode="after")
    def _one_source(self) -> "Position":
        if (self.latitude is None) != (self.longitude is None):
            raise ValueError("expected latitude and longitude together")
        if self.topic and self.latitude is not None:
            raise ValueError("expected either latitude and longitude, or topic")
        if (self.site or self.elevation_m is not None) and self.latitude is None:
            raise ValueError("expected latitude and longitude beside site or elevation_m")
        return self


class Site(Section):
    """A place with a name: estimates within its radius name it."""

    name: Name
    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)
    radius_m: float = Field(100, gt=0, le=100_000)
    elevation_m: float | None = Field(None, ge=-500, le=9_000)
    aqs: AqsSite | None = None


class Journal(Section):
    """What is kept on disk, for how long, and how durably."""

    durability: Literal["power-loss", "process-crash"] = "power-loss"
    commit_ms: Count = 60_000
    commit_messages: Count = 20
    keep_days: Positive = 30
    max_mb: Count = 256


class Limits(Section):
    """Limits on what the network can make the agent store."""

    max_sensors: Count = 256
    max_payload_bytes: Count = 8_192
    max_pending: Count = 1_000


class Health(Section):
    """How often the agent publishes health, and when a channel counts as silent."""

    interval_s: Positive = 60
    silent_s: Positive = 300


class Alert(Section):
    """A limit on the values of sensors, in the unit of their estimates."""

    name: Name
    above: float = Field(allow_inf_nan=False)
    below: float = Field(allow_inf_nan=False)
    mean: Literal["window", "1h", "8h"] = "window"
    raise_after_s: float = Field(0, ge=0, le=86_400)
    clear_after_s: float = Field(0, ge=0, le=86_400)
    sensors: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _two_thresholds(self) -> "Alert":
        if self.below > self.above:
            raise ValueError("expected below not to be higher than above")
        return self


class HomeAssistant(Section):
    """Where Home Assistant looks for discovery messages."""

    discovery: DiscoveryTopic = "homeassistant"


class Log(Section):
    """The level and format of log events; `auto` is JSON under systemd and pretty on a terminal."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "json", "pretty"] = "auto"
