"""A whole archive: every layout gives the same estimates, nothing is overwritten, and faults are named."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from edge_agent.core import bundle
from edge_agent.core.messages import Estimate, Reading, encode_estimate, format_time
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Windows
from model_export.archive.run import Request, run
from model_export.cli.main import main
from tests.support.archives import CHANNELS, minutes, save, save_bundles

FEBRUARY, MARCH = "sensor=5A2D/month=2024-02", "sensor=5A2D/month=2024-03"


def recalibrated(archive: Path, bundles: Path, out: Path) -> dict[str, Any]:
    said: list[str] = []
    return run(Request(archive, bundles, out), lambda: ThreadPoolExecutor(1), said.append)


def estimates(out: Path) -> list[dict[str, Any]]:
    """All rows of an output, in order."""
    tables = [pq.read_table(path) for path in sorted(out.glob("**/month=*/*.parquet"))]
    rows: list[dict[str, Any]] = pa.concat_tables(tables, promote_options="permissive").to_pylist()
    return sorted(rows, key=lambda row: (row["sensor"], row["start"], row["revision"]))


def agents(bundles: Path, sensor: str, at_ms: Any, columns: Any) -> list[Estimate]:
    model = bundle.decode((bundles / f"{sensor}.bundle").read_bytes())
    readings = (
        Reading(sensor, name, at, columns[name][row])
        for row, at in enumerate(at_ms.tolist())
        for name in CHANNELS
        if not np.isnan(columns[name][row])
    )
    return [*Pipeline(Windows(), {sensor: model}).replay(readings)]


def save_months(archive: Path, days: float = 3.0, seed: int = 0, sensor: str = "5A2D") -> tuple[Any, Any]:
    """Days around the end of February, in two parts."""
    at_ms, columns = minutes("2024-02-28", days, seed)
    cut = 2 * 1_440
    for folder, rows in (("month=2024-02", slice(cut)), ("month=2024-03", slice(cut, None))):
        part = {name: values[rows] for name, values in columns.items()}
        save(archive / f"sensor={sensor}" / folder / "r.parquet", at_ms[rows], part)
    return at_ms, columns


def test_an_archive_of_months_gives_the_agents_estimates(tmp_path: Path) -> None:
    """The first windows of March know the temperatures of February."""
    at_ms, columns = save_months(tmp_path / "in")
    bundles = save_bundles(tmp_path / "bundles", "5A2D")
    figures = recalibrated(tmp_path / "in", bundles, tmp_path / "out")
    assert (figures["sensors"], figures["parts"], figures["skipped"]) == (1, 2, [])
    found, expected = estimates(tmp_path / "out"), agents(bundles, "5A2D", at_ms, columns)
    assert len(found) == len(expected) == 3 * 96
    for row, each in zip(found, expected, strict=True):
        published = json.loads(encode_estimate(each))
        assert row["start"].strftime("%Y-%m-%dT%H:%M:%SZ") == published["start"]
        assert (row["quality"], row["reasons"]) == (published["quality"], published["reasons"])
        assert row["minutes"] == published["minutes"]
        assert row["inputs"] == pytest.approx(published["inputs"], abs=1e-9)
        assert row["value"] == pytest.approx(published["value"], abs=1e-9)
        origin = row["cause"], row["status"], row["revision"], row["model"]
        assert origin == ("recalibrated", "final", 1, published["model"])


def test_months_of_many_sensors_give_the_same_in_any_order(tmp_path: Path) -> None:
    """Rows are sorted by sensor and time, however they are stored."""
    tables = {}
    for seed, sensor in enumerate(("5A2D", "5CB6")):
        tables[sensor] = save_months(tmp_path / "in", seed=seed, sensor=sensor)
    for month, rows in (("2024-02", slice(2 * 1_440)), ("2024-03", slice(2 * 1_440, None))):
        at_ms = np.concatenate([times[rows] for times, _ in tables.values()])
        order = np.random.default_rng(1).permutation(len(at_ms))
        columns = {
            name: np.concatenate([values[name][rows] for _, values in tables.values()])[order]
            for name in CHANNELS
        }
        owners = np.repeat(list(tables), len(at_ms) // 2)[order]
        save(tmp_path / "many" / f"month={month}" / "r.parquet", at_ms[order], columns, owners.tolist())
    bundles = save_bundles(tmp_path / "bundles", "5A2D", "5CB6")
    single = recalibrated(tmp_path / "in", bundles, tmp_path / "out")
    many = recalibrated(tmp_path / "many", bundles, tmp_path / "many-out")
    assert estimates(tmp_path / "out") == estimates(tmp_path / "many-out")
    assert single["readings"] == many["readings"] > 0


def test_a_sensor_that_cannot_be_done_does_not_take_the_past_of_the_others(tmp_path: Path) -> None:
    """In months of many sensors: the bundle of ODD needs a channel that the archive does not have."""
    at_ms, columns = save_months(tmp_path / "in")
    for month, rows in (("2024-02", slice(2 * 1_440)), ("2024-03", slice(2 * 1_440, None))):
        twice = {name: np.tile(values[rows], 2) for name, values in columns.items()}
        owners = np.repeat(["5A2D", "ODD"], len(at_ms[rows]))
        save(
            tmp_path / "many" / f"month={month}" / "r.parquet",
            np.tile(at_ms[rows], 2),
            twice,
            owners.tolist(),
        )
    bundles = save_bundles(tmp_path / "bundles", "5A2D")
    recalibrated(tmp_path / "in", bundles, tmp_path / "out")
    own = bundle.decode((bundles / "5A2D.bundle").read_bytes())
    odd = replace(own, sensor="ODD", channels=("op1", "op3", *own.channels[2:]), domain={}, id="")
    (bundles / "ODD.bundle").write_bytes(bundle.encode(odd))
    figures = recalibrated(tmp_path / "many", bundles, tmp_path / "many-out")
    assert [one["name"] for one in figures["skipped"]] == ["ODD in 2024-02", "ODD in 2024-03"]
    assert estimates(tmp_path / "many-out") == estimates(tmp_path / "out")


def test_nothing_is_overwritten_and_a_second_model_is_the_next_revision(tmp_path: Path) -> None:
    save_months(tmp_path / "in")
    first = save_bundles(tmp_path / "first", "5A2D")
    recalibrated(tmp_path / "in", first, tmp_path / "out")
    before = {path: path.read_bytes() for path in tmp_path.glob("out/**/*.parquet")}
    recalibrated(tmp_path / "in", first, tmp_path / "out")
    assert {path: path.read_bytes() for path in tmp_path.glob("out/**/*.parquet")} == before
    recalibrated(tmp_path / "in", save_bundles(tmp_path / "second", "5A2D", seed=9), tmp_path / "out")
    assert {path: path.read_bytes() for path in before} == before
    rows = estimates(tmp_path / "out")
    old, new = rows[::2], rows[1::2]
    assert {row["revision"] for row in old} == {1}
    assert {(row["revision"], row["supersedes"]) for row in new} == {(2, 1)}
    assert [row["superseded_value"] for row in new] == [row["value"] for row in old]
    assert [row["superseded_model"] for row in new] == [row["model"] for row in old]


def newest(out: Path) -> dict[Any, Any]:
    """Start -> model, of the highest revision."""
    rows = sorted(estimates(out), key=lambda row: int(row["revision"]))
    return {row["start"]: row["model"] for row in rows}


def test_the_bundles_of_the_last_run_have_the_highest_revision(tmp_path: Path) -> None:
    """Also if they were used before: the second ones may turn out to be worse. Then nothing is done again."""
    save_months(tmp_path / "in")
    first = save_bundles(tmp_path / "first", "5A2D")
    second = save_bundles(tmp_path / "second", "5A2D", seed=9)
    for bundles in (first, second, first):
        figures = recalibrated(tmp_path / "in", bundles, tmp_path / "out")
    [model] = {bundle.decode(path.read_bytes()).id for path in first.iterdir()}
    assert {*newest(tmp_path / "out").values()} == {model}
    assert {row["revision"] for row in estimates(tmp_path / "out")} == {1, 2, 3}
    assert figures["changed"] > 0
    assert len([*tmp_path.glob("out/_changes/*.html")]) == 3
    before = [*tmp_path.glob("out/**/*.parquet")]
    recalibrated(tmp_path / "in", first, tmp_path / "out")
    assert [*tmp_path.glob("out/**/*.parquet")] == before


def test_a_part_that_has_grown_is_done_again(tmp_path: Path) -> None:
    """The month that goes on has more readings with every run."""
    at_ms, columns = minutes("2024-02-28", 1.0)
    bundles = save_bundles(tmp_path / "bundles", "5A2D")
    for count in (720, 1_440):
        part = {name: values[:count] for name, values in columns.items()}
        save(tmp_path / "in" / FEBRUARY / "r.parquet", at_ms[:count], part)
        recalibrated(tmp_path / "in", bundles, tmp_path / "out")
    assert len(newest(tmp_path / "out")) == 96
    rows = estimates(tmp_path / "out")
    assert sorted(int(row["revision"]) for row in rows) == [1] * 96 + [2] * 48


def test_a_month_is_done_again_if_the_month_before_comes_later(tmp_path: Path) -> None:
    """Its first day looks back into that month; the values are those of a run over both. Then it rests."""
    save_months(tmp_path / "in")
    bundles = save_bundles(tmp_path / "bundles", "5A2D")
    recalibrated(tmp_path / "in", bundles, tmp_path / "at-once")
    (tmp_path / "in" / FEBRUARY).rename(tmp_path / "late")
    recalibrated(tmp_path / "in", bundles, tmp_path / "out")
    (tmp_path / "late").rename(tmp_path / "in" / FEBRUARY)
    recalibrated(tmp_path / "in", bundles, tmp_path / "out")
    found = {row["start"]: (row["value"], row["reasons"]) for row in estimates(tmp_path / "out")}
    expected = {row["start"]: (row["value"], row["reasons"]) for row in estimates(tmp_path / "at-once")}
    assert found == expected
    before = [*tmp_path.glob("out/**/*.parquet")]
    recalibrated(tmp_path / "in", bundles, tmp_path / "out")
    assert [*tmp_path.glob("out/**/*.parquet")] == before


def test_published_estimates_are_enough(tmp_path: Path) -> None:
    """Their inputs and minutes give the values that the raw readings give."""
    save_months(tmp_path / "in")
    recalibrated(tmp_path / "in", save_bundles(tmp_path / "old", "5A2D"), tmp_path / "published")
    new = save_bundles(tmp_path / "new", "5A2D", seed=9)
    recalibrated(tmp_path / "in", new, tmp_path / "from-readings")
    figures = recalibrated(tmp_path / "published", new, tmp_path / "from-estimates")
    direct, again = estimates(tmp_path / "from-readings"), estimates(tmp_path / "from-estimates")
    assert figures["changed"] == sum(row["value"] is not None for row in direct)
    for one, other in zip(direct, again, strict=True):
        assert one["value"] == pytest.approx(other["value"], abs=2e-9)
        assert (one["quality"], one["reasons"]) == (other["quality"], other["reasons"])
        assert (other["revision"], other["supersedes"]) == (2, 1)


def published(folder: Path, out: Path, revision: int, windows: slice) -> None:
    """Estimates of an output as a van has published them, with a revision."""
    [path] = folder.glob(f"{FEBRUARY}/*.parquet")
    table = pq.read_table(path).replace_schema_metadata({})
    column = pa.array(np.full(table.num_rows, revision), pa.int32())
    table = table.set_column(table.column_names.index("revision"), "revision", column)
    out.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.slice(windows.start, windows.stop - windows.start), out)


def test_estimates_that_are_published_after_a_run_are_superseded_too(tmp_path: Path) -> None:
    """New windows of the month, and windows that the van has revised since: no old value stays the newest."""
    at_ms, columns = minutes("2024-02-28", 1.0)
    save(tmp_path / "raw" / FEBRUARY / "r.parquet", at_ms, columns)
    recalibrated(tmp_path / "raw", save_bundles(tmp_path / "old", "5A2D"), tmp_path / "van")
    new, part = save_bundles(tmp_path / "new", "5A2D", seed=9), tmp_path / "in" / FEBRUARY
    published(tmp_path / "van", part / "a.parquet", 3, slice(0, 48))
    recalibrated(tmp_path / "in", new, tmp_path / "out")
    published(tmp_path / "van", part / "b.parquet", 3, slice(48, 96))
    published(tmp_path / "van", part / "c.parquet", 9, slice(0, 24))
    recalibrated(tmp_path / "in", new, tmp_path / "out")
    highest = {row["start"]: (row["revision"], row["supersedes"]) for row in estimates(tmp_path / "out")}
    assert [*highest.values()] == [(10, 9)] * 24 + [(5, 4)] * 24 + [(4, 3)] * 48
    assert all(row["superseded_model"] for row in estimates(tmp_path / "out"))


def test_bad_parts_are_named_and_counted_and_the_rest_is_done(tmp_path: Path) -> None:
    """A cut file, no bundle, mixed units, a month twice, an empty part, an empty folder, a bad bundle."""
    archive = tmp_path / "in"
    save_months(archive)
    at_ms, columns = minutes("2024-02-01", 0.5)
    cut = save(archive / "sensor=CUT/month=2024-02/r.parquet", at_ms, columns)
    cut.write_bytes(cut.read_bytes()[:-100])
    for name in ("first", "second"):
        flipped = save(archive / f"sensor=FLIPPED/month=2024-02/{name}.parquet", at_ms, columns)
    data = flipped.read_bytes()
    flipped.write_bytes(data[:4] + bytes(40) + data[44:])  # a page; the end of the file is sound
    save(archive / "sensor=LONE/month=2024-02/r.parquet", at_ms, columns)
    for unit in ("mV", "nA"):
        save(archive / f"sensor=MIXED/month=2024-02/{unit}.parquet", at_ms, columns, units={"op1": unit})
    save(archive / "sensor=TWICE/month=2024-02/r.parquet", at_ms, columns)
    save(archive / "sensor=TWICE/month=2024-2/r.parquet", at_ms, columns)
    nothing = {name: values[:0] for name, values in columns.items()}
    save(archive / "sensor=EMPTY/month=2024-02/r.parquet", at_ms[:0], nothing)
    (archive / "sensor=BARE/month=2024-02").mkdir(parents=True)
    save(archive / "sensor=NARROW/month=2024-02/r.parquet", at_ms, {"op1": columns["op1"]})
    names = ("5A2D", "CUT", "FLIPPED", "MIXED", "TWICE", "EMPTY", "BARE", "NARROW")
    bundles = save_bundles(tmp_path / "bundles", *names)
    (bundles / "bad.bundle").write_bytes(b"no bundle")
    figures = recalibrated(archive, bundles, tmp_path / "out")
    reasons = {one["name"]: one["reason"].rpartition("/")[2] for one in figures["skipped"]}
    damaged = "expected Parquet, got a damaged or incomplete file; copy or make it again"
    assert reasons == {
        "bad.bundle": reasons["bad.bundle"],
        "sensor=TWICE/month=2024-2": "month=2024-02 too; remove one",
        "CUT in 2024-02": f"r.parquet: {damaged}",
        "FLIPPED in 2024-02": f"second.parquet: {damaged}",
        "LONE in 2024-02": "LONE: expected a bundle, got none; make one with model-export fit",
        "MIXED in 2024-02": "month=2024-02: op1: expected one unit, got mV and nA; convert one",
        "EMPTY in 2024-02": "month=2024-02: expected rows, got none; remove the empty files",
        "BARE in 2024-02": "month=2024-02: expected Parquet files, got none; remove the empty folder",
        "NARROW in 2024-02": "NARROW: expected columns op1, op2, temperature, got no op2",
    }
    assert (figures["sensors"], figures["parts"]) == (2, 3)
    assert "Not recalibrated" in Path(figures["changes"]).read_text()


def test_estimates_of_another_unit_are_refused(tmp_path: Path) -> None:
    save_months(tmp_path / "in")
    recalibrated(tmp_path / "in", save_bundles(tmp_path / "ppb", "5A2D", unit="ppb"), tmp_path / "published")
    figures = recalibrated(tmp_path / "published", save_bundles(tmp_path / "ppm", "5A2D"), tmp_path / "out")
    words = "expected estimates in ppm as the bundle's, got ppb; convert them"
    assert [one["reason"] for one in figures["skipped"]] == [words, words]


def test_rows_of_another_sensor_than_the_folders_are_refused(tmp_path: Path) -> None:
    """A file in the wrong folder; the next month is done."""
    save_months(tmp_path / "in")
    at_ms, columns = minutes("2024-02-01", 0.5)
    save(tmp_path / "in" / FEBRUARY / "s.parquet", at_ms, columns, ["5CB6"] * len(at_ms))
    save(tmp_path / "in" / MARCH / "s.parquet", at_ms, columns, ["5A2D"] * len(at_ms))
    figures = recalibrated(tmp_path / "in", save_bundles(tmp_path / "bundles", "5A2D"), tmp_path / "out")
    [skipped] = figures["skipped"]
    assert skipped["reason"].endswith("month=2024-02: expected rows of 5A2D in the column sensor, got 5CB6")
    assert figures["windows"] == 96


def test_a_month_with_texts_for_numbers_does_not_stop_the_next(tmp_path: Path) -> None:
    save_months(tmp_path / "in")
    path = tmp_path / "in" / FEBRUARY / "r.parquet"
    table = pq.read_table(path)
    texts = pa.array(["n/a"] * table.num_rows)
    pq.write_table(table.set_column(table.column_names.index("op1"), "op1", texts), path)
    figures = recalibrated(tmp_path / "in", save_bundles(tmp_path / "bundles", "5A2D"), tmp_path / "out")
    [skipped] = figures["skipped"]
    assert skipped["name"] == "5A2D in 2024-02"
    assert skipped["reason"].startswith("op1: expected numbers, got string (")
    assert figures["windows"] == 96


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"unit": "ppb"},
            "expected estimates in ppb as the bundle's, got ppm; name another --out",
        ),
        ({"window_ms": 3_600_000}, "expected windows of 60 minutes, got 15; name another --out"),
    ],
)
def test_estimates_of_an_earlier_run_that_are_of_another_kind_are_not_superseded(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    """A change from ppm to ppb is none, and three of four windows would stay the newest of their time."""
    save_months(tmp_path / "in")
    recalibrated(tmp_path / "in", save_bundles(tmp_path / "first", "5A2D"), tmp_path / "out")
    before = estimates(tmp_path / "out")
    other = save_bundles(tmp_path / "other", "5A2D", **change)
    figures = recalibrated(tmp_path / "in", other, tmp_path / "out")
    assert {one["reason"].partition(": ")[2] for one in figures["skipped"]} == {reason}
    assert estimates(tmp_path / "out") == before


def test_a_row_outside_its_month_is_counted(tmp_path: Path) -> None:
    """It belongs to another part, which would have it twice."""
    at_ms, columns = minutes("2024-02-29", 1.5)
    save(tmp_path / "in" / FEBRUARY / "r.parquet", at_ms, columns)
    recalibrated(tmp_path / "in", save_bundles(tmp_path / "bundles", "5A2D"), tmp_path / "out")
    assert len(estimates(tmp_path / "out")) == 96
    [path] = tmp_path.glob("out/_changes/*.parquet")
    assert pq.read_table(path)["rows_outside_month"].to_pylist() == [720]


def test_a_part_without_a_reading_of_its_month_does_not_stop_the_next(tmp_path: Path) -> None:
    at_ms, columns = minutes("2024-03-05", 0.5)
    save(tmp_path / "in" / FEBRUARY / "r.parquet", at_ms, columns)
    save(tmp_path / "in" / MARCH / "r.parquet", at_ms, columns)
    april = at_ms + 31 * 86_400_000
    empty = {name: values * np.nan for name, values in columns.items()}
    save(tmp_path / "in" / "sensor=5A2D/month=2024-04" / "r.parquet", april, empty)
    save(tmp_path / "in" / "month=2024-05" / "r.parquet", at_ms, columns, ["5A2D"] * len(at_ms))
    bundles = save_bundles(tmp_path / "bundles", "5A2D")
    figures = recalibrated(tmp_path / "in", bundles, tmp_path / "out")
    assert figures["windows"] == 48
    reasons = {one["name"]: one["reason"].rpartition("/")[2] for one in figures["skipped"]}
    assert reasons == {
        "5A2D in 2024-02": "month=2024-02: expected rows of 2024-02, got none; check the times",
        "5A2D in 2024-04": "5A2D: expected readings, got none",
        "month=2024-05": "month=2024-05: expected rows of 2024-05, got none; check the times",
    }


@pytest.mark.parametrize(
    "kind",
    [
        "s",
        "us",
        "seconds",
        "short seconds",
        "text",
        "text of Python",
        "text of NumPy",
        "text without a zone",
        "long text",
    ],
)
def test_times_may_be_stored_in_any_way(tmp_path: Path, kind: str) -> None:
    at_ms, columns = minutes("2024-02-28", 0.5)
    path = save(tmp_path / "in" / FEBRUARY / "r.parquet", at_ms, columns)
    bundles = save_bundles(tmp_path / "bundles", "5A2D")
    recalibrated(tmp_path / "in", bundles, tmp_path / "out")
    table = pq.read_table(path)
    times = {
        "s": lambda: table["timestamp"].cast(pa.timestamp("s", "UTC")),
        "us": lambda: table["timestamp"].cast(pa.timestamp("us", "UTC")),
        "seconds": lambda: pa.array(at_ms // 1000),
        "short seconds": lambda: pa.array(at_ms // 1000, pa.int32()),
        "text without a zone": lambda: pc.strftime(table["timestamp"], "%Y-%m-%d %H:%M:%S"),
        "text": lambda: pc.strftime(table["timestamp"], "%Y-%m-%dT%H:%M:%SZ"),
        "text of Python": lambda: pa.array(
            [f"{at[:19]}.000250+00:00" for at in map(format_time, at_ms.tolist())]
        ),
        "text of NumPy": lambda: pa.array([f"{at}000000" for at in at_ms.astype("M8[ms]").astype(str)]),
        "long text": lambda: pc.strftime(table["timestamp"], "%Y-%m-%dT%H:%M:%S").cast(pa.large_string()),
    }[kind]()
    pq.write_table(table.set_column(0, "timestamp", times), path)
    recalibrated(tmp_path / "in", bundles, tmp_path / "again")
    assert estimates(tmp_path / "again") == estimates(tmp_path / "out")


def test_rows_without_a_sensor_are_counted(tmp_path: Path) -> None:
    at_ms, columns = minutes("2024-02-28", 0.5)
    path, bundles = (
        tmp_path / "in" / "month=2024-02" / "r.parquet",
        save_bundles(tmp_path / "bundles", "5A2D"),
    )
    save(path, at_ms, columns, ["5A2D"] * len(at_ms))
    table = pq.read_table(path)
    some = pa.array([None] * 30 + ["5A2D"] * (len(at_ms) - 30))
    pq.write_table(table.set_column(0, "sensor", some), path)
    figures = recalibrated(tmp_path / "in", bundles, tmp_path / "some")
    changes = pq.read_table(Path(figures["changes"]).with_suffix(".parquet")).to_pylist()
    assert (figures["windows"], changes[0]["rows_without_sensor"]) == (46, 30)
    pq.write_table(table.set_column(0, "sensor", pa.nulls(len(at_ms), pa.string())), path)
    figures = recalibrated(tmp_path / "in", bundles, tmp_path / "none")
    reasons = [one["reason"].rpartition("/")[2] for one in figures["skipped"]]
    assert reasons == ["month=2024-02: expected names in the column sensor, got none"]


def test_a_date_far_away_is_a_row_outside_its_month(tmp_path: Path) -> None:
    """Some databases write such a date where none is known."""
    at_ms, columns = minutes("2024-02-28", 0.5)
    path = save(tmp_path / "in" / FEBRUARY / "r.parquet", at_ms, columns)
    table = pq.read_table(path)
    texts = ["0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z", *map(format_time, at_ms.tolist()[2:])]
    pq.write_table(table.set_column(0, "timestamp", pa.array(texts)), path)
    figures = recalibrated(tmp_path / "in", save_bundles(tmp_path / "bundles", "5A2D"), tmp_path / "out")
    assert (figures["windows"], figures["skipped"]) == (48, [])


def test_the_command_writes_estimates_and_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In processes of its own, as a user gives it."""
    save_months(tmp_path / "in")
    bundles = save_bundles(tmp_path / "bundles", "5A2D")
    options = ["--bundles", str(bundles), "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert main(["recalibrate", str(tmp_path / "in"), *options]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["windows"], figures["skipped"]) == (288, [])
    assert "Recalibrated values" in Path(figures["changes"]).read_text()
    assert main(["recalibrate", str(tmp_path / "in"), *options[:2], "--out", str(tmp_path / "out")]) == 0


def test_a_folder_that_is_no_archive_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundles = save_bundles(tmp_path / "bundles", "5A2D")
    options = ["--bundles", str(bundles), "--out", str(tmp_path / "out")]
    assert main(["recalibrate", str(tmp_path), *options]) == 1
    assert "expected folders sensor=5A2D/month=2024-02 or month=2024-02, got none" in capsys.readouterr().err


def test_estimates_of_other_windows_are_refused(tmp_path: Path) -> None:
    """Means of 15 minutes cannot become means of an hour."""
    save_months(tmp_path / "in")
    recalibrated(tmp_path / "in", save_bundles(tmp_path / "old", "5A2D"), tmp_path / "published")
    hourly = save_bundles(tmp_path / "hourly", "5A2D", window_ms=3_600_000)
    figures = recalibrated(tmp_path / "published", hourly, tmp_path / "out")
    assert {one["reason"] for one in figures["skipped"]} == {"expected windows of 60 minutes, got 15"}
    figures = recalibrated(tmp_path / "in", hourly, tmp_path / "out")
    assert "15 minutes" not in Path(figures["changes"]).read_text()
