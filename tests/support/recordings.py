"""Made-up recordings: a CO sensor whose gain, baseline and noise are known, beside a reference."""

from pathlib import Path

import numpy as np
import pandas as pd

FIRST_MS = 1_706_745_600_000  # 2024-02-01T00:00:00Z
MINUTE_MS = 60_000
WEEK_MS = 7 * 24 * 60 * MINUTE_MS


def tidy(windows: int = 200, seed: int = 0, noise: float = 0.02, first_ms: int = FIRST_MS) -> pd.DataFrame:
    """One row a minute: timestamp, op1, op2, temperature, reference (ppm)."""
    random = np.random.default_rng(seed)
    hours = np.arange(windows * 15) / 60.0
    temperature = (
        22.0 + 8.0 * np.sin(2 * np.pi * hours / 24.0) + np.cumsum(random.normal(0, 0.02, len(hours)))
    )
    reference = (
        0.8 + 0.4 * np.sin(2 * np.pi * hours / 7.0 + 1.0) ** 2 + 0.2 * np.sin(2 * np.pi * hours / 31.0)
    )
    op2 = 200.0 + 0.6 * temperature + random.normal(0, 1.0, len(hours))
    sensitivity = 60.0 + 0.8 * (temperature - 22.0)
    op1 = op2 * 1.1 + sensitivity * reference
    reference = reference + random.normal(0, noise, len(hours))
    at = pd.to_datetime(first_ms + MINUTE_MS * np.arange(len(hours)), unit="ms", utc=True)
    return pd.DataFrame(
        {
            "timestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "op1": op1,
            "op2": op2,
            "temperature": temperature,
            "reference": reference,
        }
    )


def saved(table: pd.DataFrame, path: Path) -> Path:
    """Write the table as CSV or Parquet, by the file's name."""
    if path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False)
    return path


def colocated(folder: Path) -> Path:
    """Two sensors at two sites in two seasons, side by side; each dataset's reference has its own zero."""
    for number, dataset in enumerate(("T-W", "T-S", "C-W", "C-S")):
        table = tidy(windows=120, seed=number, first_ms=WEEK_MS * (2800 + 4 * number))
        table["reference"] += 0.3 * number
        saved(table, folder / f"5A2D_{dataset}.csv")
        saved(table.assign(op1=table["op1"] * 0.8 + 20.0), folder / f"5CB6_{dataset}.csv")
    return folder
