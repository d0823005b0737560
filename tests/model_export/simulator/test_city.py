"""A city on disk: an archive that recalibrate reads, and a manifest that the trainer reads."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from model_export.archive.layout import find
from model_export.recordings.catalogue import collect
from model_export.simulator.city import HEADER, City, names, record, site_of


def test_a_package_depends_on_the_seed_and_its_name_alone(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        record(City(tmp_path / folder, seed=1, days=2, outliers=0.01), "S0001")
    record(City(tmp_path / "c", seed=2, days=2, outliers=0.01), "S0001")
    a, b, c = (path.read_bytes() for path in sorted(tmp_path.glob("*/sensor=*/month=*/*.parquet")))
    assert a == b != c


def test_the_months_are_parts_of_an_archive_and_the_manifest_lists_them(tmp_path: Path) -> None:
    city = City(tmp_path, seed=1, days=33, outliers=0.01)
    lines = [HEADER]
    for name in names(2):
        lines += record(city, name)
    (tmp_path / "manifest.csv").write_text("\n".join(lines))
    series, refused = find(tmp_path)
    assert [(one.name, [part.month for part in one.parts]) for one in series] == [
        ("S0001", ["2024-01", "2024-02"]),
        ("S0002", ["2024-01", "2024-02"]),
    ]
    assert refused == {}
    collection = collect(tmp_path)
    assert [(str(one.place), len(one.train) + len(one.test)) for one in collection.members] == [
        (f"{name}_{site_of(name)}-W", 33 * 96) for name in names(2)
    ]
    assert collection.skipped == ()


def test_readings_are_plausible(tmp_path: Path) -> None:
    record(City(tmp_path, seed=3, days=2, outliers=0.01), "S0003")
    table = pq.read_table(tmp_path / "sensor=S0003/month=2024-01/readings.parquet")
    assert table.num_rows == 2 * 1_440
    assert table["reference"].null_count == 2 * 1_440 - 192
    assert 0 < table["op1"].null_count < 60
    assert 0.1 < np.nanmedian(table["reference"].to_numpy()) < 5.0
    assert table.schema.field("op1").metadata == {b"unit": b"mV"}
