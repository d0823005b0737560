"""A city of sensors: months of readings of any number of packages, as an archive in Parquet.

    DIR/sensor=S0001/month=2024-01/readings.parquet    timestamp, op1, op2, temperature, reference
    DIR/manifest.csv                                    the same as recordings, for `fleet` and `experiment`

The packages stand at the four sites, each site beside its own analyser.
"""

from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from edge_agent.core.kernel import Array
from model_export.files import write_atomically
from model_export.simulator.air import SITES, Air, draw_air
from model_export.simulator.analyser import WINDOW_MINUTES, draw_analyser, measure, spoil
from model_export.simulator.outages import LOST_MINUTES, LOST_TEMPERATURES
from model_export.simulator.package import draw_package, sense
from model_export.simulator.rng import Stream, stream
from model_export.simulator.weather import Times

START_MS = 1_704_067_200_000  # 2024-01-01
MINUTES_A_DAY = 1_440
SEASON = "W"
UNITS = {"op1": "mV", "op2": "mV", "temperature": "°C", "reference": "ppm"}
HEADER = "path,sensor,site,season,unit"


@dataclass(frozen=True, slots=True)
class City:
    """What to simulate; one package does not depend on how many others there are."""

    directory: Path
    seed: int
    days: int
    outliers: float


def names(count: int) -> list[str]:
    """S0001, S0002, …; more digits if they are needed.

    >>> names(2)
    ['S0001', 'S0002']
    """
    return [f"S{number:0{max(4, len(str(count)))}}" for number in range(1, count + 1)]


def site_of(sensor: str) -> str:
    """The packages go to the sites in turn."""
    return sorted(SITES)[int(sensor[1:]) % len(SITES)]


def record(city: City, sensor: str) -> list[str]:
    """Write the parts of one package; return its lines of the manifest."""
    rng, site = stream(city.seed, "city", sensor), site_of(sensor)
    air, reference = _beside(city.seed, site, city.days, city.outliers)
    signals = sense(rng, draw_package(city.seed, sensor), air, new_ms=START_MS, swapped=False)
    columns = {
        "op1": _lost(rng, signals.op1, LOST_MINUTES).round(3),
        "op2": _lost(rng, signals.op2, LOST_MINUTES).round(3),
        "temperature": _lost(rng, signals.temperature, LOST_TEMPERATURES).round(2),
        "reference": reference,
    }
    lines = []
    for month, rows in _months(air.at_ms):
        path = Path(f"sensor={sensor}", f"month={month}", "readings.parquet")
        part = {name: values[rows] for name, values in columns.items()}
        write_atomically(city.directory / path, _parquet(air.at_ms[rows], part))
        lines.append(f"{path},{sensor},{site},{SEASON},{UNITS['reference']}")
    return lines


@lru_cache(maxsize=len(SITES))
def _beside(seed: int, site: str, days: int, outliers: float) -> tuple[Air, Array]:
    """The air of a site, and its analyser's readings in the first minute of every window."""
    air = draw_air(stream(seed, "air", site), SITES[site], START_MS, days * MINUTES_A_DAY)
    rng = stream(seed, "reference", site)
    measured = measure(rng, draw_analyser(rng), air.co)
    reference = np.full((len(measured), WINDOW_MINUTES), np.nan)
    reference[:, 0] = spoil(rng, measured, outliers)[0].round(3)
    return air, reference.ravel()


def _lost(rng: Stream, values: Array, rate: float) -> Array:
    return np.where(rng.random(len(values)) < rate, np.nan, values)


def _months(at_ms: Times) -> list[tuple[str, slice]]:
    """Each month, and where its minutes are."""
    months = at_ms.astype("datetime64[ms]").astype("datetime64[M]")
    found, first = np.unique(months, return_index=True)
    ends = [*first[1:].tolist(), len(at_ms)]
    return [
        (str(month), slice(begin, end)) for month, begin, end in zip(found, first.tolist(), ends, strict=True)
    ]


def _parquet(at_ms: Times, columns: dict[str, Array]) -> bytes:
    fields = [pa.field(name, pa.float64(), metadata={"unit": UNITS[name]}) for name in columns]
    arrays = [pa.array(values, from_pandas=True) for values in columns.values()]
    time = pa.timestamp("ms", "UTC")
    schema = pa.schema([pa.field("timestamp", time), *fields])
    table = pa.Table.from_arrays([pa.array(at_ms).cast(time), *arrays], schema=schema)
    data = BytesIO()
    pq.write_table(table, data)
    return data.getvalue()
