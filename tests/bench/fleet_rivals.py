"""What the archive's path is compared with: plain pandas, and a bare group-by that calibrates nothing."""

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

CHANNELS = ["op1", "op2", "temperature"]


def in_pandas(folder: Path, bundles: Path, out: Path) -> int:
    """One sensor: minutes, windows, coverage, warming, the model, the interval and a file, as one would."""
    import numpy as np
    import pandas as pd

    from edge_agent.core import bundle
    from edge_agent.core.warming import weights

    sensor = folder.name.removeprefix("sensor=")
    model = bundle.decode((bundles / f"{sensor}.bundle").read_bytes())
    rows: Any = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("month=*/*.parquet"))])
    rows = rows.set_index("timestamp")[CHANNELS].sort_index()
    minutes = rows.resample("1min").mean()
    windows = minutes.resample("15min").agg(["mean", "count", "min", "max"])
    means = windows.xs("mean", axis=1, level=1)
    covered = (windows.xs("count", axis=1, level=1) >= 12).all(axis=1)
    temperature = means["temperature"]
    then = temperature.bfill()
    for name, memory_ms in model.warming.items():
        aged = enumerate(weights(900_000, memory_ms), 1)
        means[name] = sum(weight * (temperature - then.shift(age)).fillna(0.0) for age, weight in aged)
    usable = means[covered]
    value = pd.Series(model.predict(usable[[*model.channels]], usable["temperature"]), usable.index)
    outside = pd.DataFrame(
        {name: (usable[name] < low) | (usable[name] > high) for name, (low, high) in model.domain.items()}
    )
    table = means.assign(value=value, sensor=sensor, model=model.id, covered=covered)
    table["low"], table["high"] = table["value"] - 0.12, table["value"] + 0.12
    table["quality"] = np.where(~covered, 9, np.where(outside.any(axis=1).reindex(means.index), 3, 1))
    out.mkdir(parents=True, exist_ok=True)
    table.to_parquet(out / f"{sensor}.parquet")
    return int(rows.notna().sum().sum())


def all_in_pandas(archive: Path, bundles: Path, out: Path) -> int:
    """Every sensor, in two processes."""
    folders = sorted(archive.glob("sensor=*"))
    with ProcessPoolExecutor(2) as pool:
        counts = pool.map(in_pandas, folders, [bundles] * len(folders), [out] * len(folders))
        return sum(counts)


def in_polars(archive: Path) -> int:
    """Means of 15 minutes, and nothing else."""
    import polars as pl  # type: ignore[import-not-found, unused-ignore]

    window = pl.col("timestamp").dt.truncate("15m").alias("start")
    rows = pl.scan_parquet(f"{archive}/sensor=*/month=*/*.parquet", hive_partitioning=True)
    means = rows.group_by("sensor", window).agg(pl.col(*CHANNELS).mean(), pl.len())
    return int(means.collect().height)


def in_pyarrow(archive: Path) -> int:
    """The same with pyarrow's own group-by, one sensor after the other."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    windows = 0
    for folder in sorted(archive.glob("sensor=*")):
        for path in sorted(folder.glob("month=*/*.parquet")):
            table = pq.ParquetFile(path).read(["timestamp", *CHANNELS])
            start = pc.floor_temporal(table["timestamp"], 15, "minute")
            grouped = table.append_column("start", start).group_by("start")
            windows += grouped.aggregate([(name, "mean") for name in CHANNELS]).num_rows
    return windows


if __name__ == "__main__":
    rivals: dict[str, Callable[..., int]] = {
        "pandas": all_in_pandas,
        "polars": in_polars,
        "pyarrow": in_pyarrow,
    }
    print(rivals[sys.argv[1]](*map(Path, sys.argv[2:])))
