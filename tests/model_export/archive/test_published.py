"""Archives of published estimates: as they are on the wire, with text for times, or with a column missing."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from edge_agent.core.messages import encode_estimate
from tests.model_export.archive.test_run import FEBRUARY, MARCH, agents, recalibrated
from tests.support.archives import minutes, save, save_bundles


def as_published(folder: Path) -> tuple[Path, Any]:
    """A file of estimates as they are on the wire, with their times as text, and its table."""
    at_ms, columns = minutes("2024-02-28", 1.0)
    bundles = save_bundles(folder / "old", "5A2D")
    records = [json.loads(encode_estimate(each)) for each in agents(bundles, "5A2D", at_ms, columns)]
    path = folder / "in" / FEBRUARY / "r.parquet"
    path.parent.mkdir(parents=True)
    table = pa.Table.from_pylist(records)
    pq.write_table(table, path)
    return path, table


def test_windows_have_the_bundles_length_also_if_times_are_text(tmp_path: Path) -> None:
    as_published(tmp_path)
    hourly = save_bundles(tmp_path / "hourly", "5A2D", window_ms=3_600_000)
    figures = recalibrated(tmp_path / "in", hourly, tmp_path / "out")
    assert [one["reason"] for one in figures["skipped"]] == ["expected windows of 60 minutes, got 15"]


@pytest.mark.parametrize("name", ["inputs", "minutes", "reasons", "value", "model"])
def test_estimates_without_what_they_need_are_named_and_the_next_month_is_done(
    tmp_path: Path, name: str
) -> None:
    path, table = as_published(tmp_path)
    save(tmp_path / "in" / MARCH / "r.parquet", *minutes("2024-03-01", 1.0))
    texts = pa.array([json.dumps(each) for each in table[name].to_pylist()])
    of_text = table.set_column(table.column_names.index(name), name, texts)
    for number, bad in enumerate([table.drop([name]), of_text]):
        if name == "inputs" and number == 0:
            continue  # then they are no estimates
        if name == "model" and number == 1:
            continue  # it is a text
        pq.write_table(bad, path)
        figures = recalibrated(tmp_path / "in", tmp_path / "old", tmp_path / f"out-{number}")
        assert figures["windows"] == 96
        [skipped] = figures["skipped"]
        words = "inputs and minutes (structs), reasons (a list), value (a number) and model"
        got = f"{name} as string" if number else f"no {name}"
        assert skipped["reason"] == f"{path}: expected estimates with {words}, got {got}"


def test_estimates_of_the_same_model_have_not_changed(tmp_path: Path) -> None:
    """Published inputs have nine decimals, so the last decimal of a value may differ."""
    as_published(tmp_path)
    figures = recalibrated(tmp_path / "in", tmp_path / "old", tmp_path / "out")
    assert (figures["windows"], figures["changed"]) == (96, 0)
