"""Small archives in Parquet, and the bundles of their sensors."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from edge_agent.core import bundle
from edge_agent.core.kernel import Array
from model_export.archive.windows import Times
from tests.conftest import make_warming_model

CHANNELS = ("op1", "op2", "temperature")
TIME = pa.timestamp("ms", "UTC")


def begin_ms(day: str) -> int:
    return int(np.datetime64(day, "ms").astype(np.int64))


def minutes(day: str, days: float, seed: int = 0) -> tuple[Times, dict[str, Array]]:
    """A row a minute from the beginning of a day on, with some values missing."""
    rng, count = np.random.default_rng(seed), int(days * 1_440)
    values = rng.normal([235.0, 205.0, 24.0], [25.0, 12.0, 6.0], (count, 3)).round(3)
    values[rng.random((count, 3)) < 0.02] = np.nan
    at_ms = begin_ms(day) + 60_000 * np.arange(count, dtype=np.int64)
    return at_ms, dict(zip(CHANNELS, values.T, strict=True))


def save(
    path: Path,
    at_ms: Times,
    columns: Mapping[str, Array],
    sensors: Iterable[str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Path:
    """Raw readings as a Parquet file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = [
        pa.field(name, pa.float64(), metadata={"unit": units[name]} if units and name in units else None)
        for name in columns
    ]
    arrays = [pa.array(values, from_pandas=True) for values in columns.values()]
    names = [pa.field("timestamp", TIME), *fields]
    data = [pa.array(at_ms).cast(TIME), *arrays]
    if sensors is not None:
        names, data = [pa.field("sensor", pa.string()), *names], [pa.array(list(sensors)), *data]
    pq.write_table(pa.Table.from_arrays(data, schema=pa.schema(names)), path)
    return path


def save_bundles(folder: Path, *sensors: str, seed: int = 0, **changes: object) -> Path:
    """A bundle for each sensor."""
    folder.mkdir(parents=True, exist_ok=True)
    for sensor in sensors:
        model = make_warming_model(sensor, seed=seed, **changes)
        (folder / f"{sensor}.bundle").write_bytes(bundle.encode(model))
    return folder
