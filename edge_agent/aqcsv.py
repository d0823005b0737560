"""Estimates in AQCSV, the exchange format of the US EPA's AirNow: 20 columns, one value at a site a row."""

from typing import Any

from edge_agent.core.errors import RespireError
from edge_agent.core.messages import parse_time
from edge_agent.core.units import PublishUnit, decode_conditions
from edge_agent.settings import Settings
from edge_agent.settings_sections import Site

COLUMNS = (
    *("site", "data_status", "action_code", "datetime", "parameter", "duration", "frequency", "value"),
    *("unit", "qc", "poc", "lat", "lon", "GISDatum", "elev", "method_code", "mpc", "mpc_value"),
    *("uncertainty", "qualifiers"),
)
PARAMETERS = {"CO": 42101, "NO": 42601, "NO2": 42602, "O3": 44201, "SO2": 42401}  # AQS
PPM = "007"  # AQS
VALID, SUSPECT, INVALID = 0, 5, 8
QC = {1: VALID, 3: SUSPECT, 4: INVALID}
PRELIMINARY = 0  # an agency certifies data as final, not a gateway

Record = dict[str, Any]


class Aqcsv:
    """Makes rows of estimates; `unplaced` counts those without a position or a site with a code."""

    def __init__(self, settings: Settings, sensors: list[str]) -> None:
        """A sensor's place in `sensors` is its parameter occurrence code, which tells instruments apart."""
        self.unplaced = 0
        self._elevation_m = settings.position.elevation_m
        self._sites = {site.name: site for site in settings.sites if site.aqs}
        self._poc = {sensor: number for number, sensor in enumerate(sensors, 1)}

    def row(self, record: Record) -> list[Any] | None:
        """The row of an estimate; None if it has no value, or no unit that becomes ppm, or no place."""
        gas, value = record["gas"], record["value"]
        conditions = decode_conditions(record["unit_at"])
        to_ppm = PublishUnit("ppm", conditions) if conditions else PublishUnit("ppm")
        factor = to_ppm.factor(gas or "", record["unit"] or "")
        if value is None or factor is None or gas not in PARAMETERS:
            return None
        site, position = self._sites.get(record["site"] or ""), record["position"]
        if site is None or position is None:
            self.unplaced += 1
            return None
        return self._cells(record, site, round(value * factor, 6), factor)

    def _cells(self, record: Record, site: Site, value: float, factor: float) -> list[Any]:
        start, position = record["start"], record["position"]
        minutes = (parse_time(record["end"]) - parse_time(start)) // 60_000
        elevation_m = self._elevation_m if site.elevation_m is None else site.elevation_m
        low, high = record["low"], record["high"]
        half_width = None if low is None or high is None else round((high - low) / 2 * factor, 6)
        return [
            *(site.aqs, PRELIMINARY, None, f"{start[:16].replace('-', '').replace(':', '')}+0000"),
            *(PARAMETERS[record["gas"]], minutes, None, value, PPM, QC[record["quality"]]),
            *(self._poc[record["sensor"]], position["lat"], position["lon"], "WGS84", elevation_m),
            *(None, None, None, half_width, None),
        ]

    def require(self, rows: int) -> None:
        """An empty file without a reason would help nobody."""
        if self.unplaced and not rows:
            words = "expected estimates with a position, at a site with aqs; see [position] and [[sites]]"
            raise RespireError(f"export: {words} in the settings")
