"""Forty shapes of files as people have them: each is read right, or refused with the line that says what to do.

Every file holds the same recording, so that what is read can be compared with it.
"""

import bz2
import gc
import gzip
import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest

from edge_agent.core.bundle import encode
from edge_agent.core.errors import BadRecording
from model_export.recordings.shape import Shape
from model_export.recordings.table_files import HEAD_BYTES, decimal_mark
from model_export.recordings.tables import Layout, read
from tests.support.models import linear
from tests.support.recordings import tidy
from tests.support.workbook import Cell, workbook

FIRST = pd.Timestamp("2017-09-12T14:53:00Z")
TIMES = pd.date_range(FIRST, periods=400, freq="5min")
OP1, OP2 = 231.25 + np.arange(400) * 0.5, 206.5 - np.arange(400) * 0.25
TEMPERATURE, REFERENCE = 24.5 + np.arange(400) % 7, 0.75 + np.arange(400) % 5 * 0.125
NAMES = ("timestamp", "op1", "op2", "temperature", "reference")
ROME, NEW_YORK = "Europe/Rome", "America/New_York"


def stamps(form: str = "%Y-%m-%dT%H:%M:%SZ", zone: str = "UTC") -> list[str]:
    return [str(text) for text in TIMES.tz_convert(zone).strftime(form)]


def text(
    times: Sequence[object] = (),
    names: Sequence[str] = NAMES,
    mark: str = ",",
    decimal: str = ".",
    before: str = "",
    after: str = "",
    end: str = "\n",
) -> str:
    """The recording as text; `before` comes before the header, `after` after it."""
    rows = [mark.join(names)]
    for time, *values in zip(times or stamps(), OP1, OP2, TEMPERATURE, REFERENCE, strict=True):
        rows.append(mark.join([str(time), *(str(value).replace(".", decimal) for value in values)]))
    return before + rows[0] + end + after + end.join(rows[1:]) + end


def quoted() -> str:
    """Commas between values and in numbers, as some spreadsheets write it."""
    rows = zip(stamps(), OP1, OP2, TEMPERATURE, REFERENCE, strict=True)
    cells = (['"' + str(cell).replace(".", ",") + '"' for cell in row] for row in rows)
    return ",".join(NAMES) + "\n" + "\n".join(map(",".join, cells)) + "\n"


def frame(times: pd.DatetimeIndex = TIMES) -> pd.DataFrame:
    values = (times, OP1, OP2, TEMPERATURE, REFERENCE)
    return pd.DataFrame(dict(zip(NAMES, values, strict=True)))


def sheet(times: Sequence[Cell] = (), names: Sequence[str] = NAMES) -> list[list[Cell]]:
    columns = (times or stamps(), *(each.tolist() for each in (OP1, OP2, TEMPERATURE, REFERENCE)))
    return [list(names), *map(list, zip(*columns, strict=True))]


def days() -> list[Cell]:
    """Days of Excel, local time in Rome."""
    naive = TIMES.tz_convert(ROME).tz_localize(None)
    return [float(each) for each in (naive - pd.Timestamp("1899-12-30")) / pd.Timedelta("1D")]


def zipped(path: Path, *names: str) -> None:
    with ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, text())


@dataclass(frozen=True)
class Good:
    """A file that is read: how it is written, what must be set, and what is said about it."""

    name: str
    write: Callable[[Path], object]
    layout: Layout = field(default_factory=Layout)
    said: str = ""
    file: str = "a.csv"
    sensor: str = "5A2D"


def plain(content: str, encoding: str = "utf-8") -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content.encode(encoding))


def packed(pack: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(pack(text().encode()))


UPPER = ("Timestamp", "OP1", "OP2", "Temperature", "Reference")
UNITS = ("timestamp", "op1 [mV]", "op2 [mV]", "temperature (°C)", "Reference (ppm)")
POINTS, SLASHES, AMERICAN = "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %I:%M %p"
DAY_FIRST = "dates as day.month.year (there is 13.09.2017; if not, set --dates)"
IN_ROME = Layout(timezone=ROME)
UCI = ("Date", "Time", "op1", "op2", "temperature", "reference")

GOOD = (
    Good("plain", plain(text())),
    Good("semicolons", plain(text(mark=";")), said="values separated by semicolons"),
    Good("tabs", plain(text(mark="\t")), said="values separated by tabs"),
    Good("bars", plain(text(mark="|")), said="values separated by bars"),
    Good("decimal commas", plain(text(mark=";", decimal=",")), said="values separated by semicolons, decimal commas"),
    Good("decimal commas in quotes", plain(quoted()), said="decimal commas"),
    Good("sep= of Excel", plain(text(mark=";", before="sep=;\n")), said="values separated by semicolons, the header in line 2"),
    Good("byte order mark", plain("\ufeff" + text())),
    Good("UTF-16", plain("\ufeff" + text(), "utf-16-le"), said="text as utf-16"),
    Good("Windows-1252", plain(text(names=UNITS), "cp1252"), said="text as cp1252"),
    Good("Windows line ends", plain(text(end="\r\n"))),
    Good("no last line end", plain(text().rstrip("\n"))),
    Good("capitals", plain(text(names=UPPER))),
    Good("spaces around names", plain(text(names=[f" {name} " for name in NAMES]))),
    Good("units in the names", plain(text(names=UNITS))),
    Good("a row of units", plain(text(after="UTC,mV,mV,°C,ppm\n")), said="1 row of units left out"),
    Good("two rows of units", plain(text(after=",mV,mV,°C,ppm\n,mean,mean,mean,mean\n")), said="2 rows of units left out"),
    Good("lines before the header", plain(text(before="Station: Roma\nSerial 5A2D\n")), said="the header in line 3"),
    Good("comments", plain(text(before="# op1, op2, in, mV, each\n")), said="the header in line 2"),
    Good("epoch seconds", plain(text([int(each.timestamp()) for each in TIMES]))),
    Good("epoch milliseconds", plain(text([int(each.timestamp() * 1000) for each in TIMES]))),
    Good("offsets", plain(text(stamps("%Y-%m-%dT%H:%M:%S%z", ROME)))),
    Good("a space for the T", plain(text(stamps("%Y-%m-%d %H:%M:%S", ROME))), IN_ROME),
    Good("slashes, year first", plain(text(stamps("%Y/%m/%d %H:%M", ROME))), IN_ROME),
    Good("points, local time", plain(text(stamps(POINTS, ROME))), IN_ROME, DAY_FIRST),
    Good("day first", plain(text(stamps(SLASHES, ROME))), IN_ROME, DAY_FIRST.replace(".", "/")),
    Good("PM", plain(text(stamps(AMERICAN, NEW_YORK))), Layout(timezone=NEW_YORK), "dates as month/day/year (there is 09/13/2017; if not, set --dates)"),
    Good("short years", plain(text(stamps("%d/%m/%y %H:%M", ROME))), IN_ROME, DAY_FIRST.replace(".", "/")),
    Good("date and time apart", plain(text(stamps("%d/%m/%Y;%H.%M.%S", ROME), UCI, ";", ",")), IN_ROME, f"values separated by semicolons, decimal commas, {DAY_FIRST.replace('.', '/')}"),
    Good("ISO date and time apart", plain(text(stamps("%Y-%m-%d,%H:%M:%S"), UCI)), Layout(timezone="UTC")),
    Good("other names", plain(text(names=("when", "co_we", "co_ae", "T", "ref"))), Layout({"timestamp": "when", "op1": "co_we", "op2": "CO_AE", "temperature": "T", "reference": "ref"})),
    Good("datetime", plain(text(names=("DateTime", *NAMES[1:])))),
    Good("gzip", packed(gzip.compress), file="a.csv.gz"),
    Good("gzip under another name", packed(gzip.compress)),
    Good("bzip2", packed(bz2.compress), file="a.csv.bz2"),
    Good("xz", packed(lzma.compress), file="a.csv.xz"),
    Good("zip", lambda path: zipped(path, "inner.csv"), file="a.zip"),
    Good("Parquet", lambda path: frame().to_parquet(path), file="a.parquet"),
    Good("Parquet, local time", lambda path: frame(TIMES.tz_convert(ROME).tz_localize(None)).to_parquet(path), IN_ROME, file="a.parquet"),
    Good("Excel", lambda path: workbook(path, {"data": sheet()}), file="a.xlsx"),
    Good("Excel, days", lambda path: workbook(path, {"data": sheet(days(), UPPER)}), IN_ROME, "time stamps as days of Excel", file="a.xlsx"),
    Good("Excel, two sheets", lambda path: workbook(path, {"read me": [["op1 is in mV"]], "data": sheet(), "more": sheet()}), said="sheet data of 2", file="a.xlsx"),
    Good("Excel, a sheet about it", lambda path: workbook(path, {"about": [["author", "date"], ["me", "today"]], "data": sheet()}), said="sheet data of 2", file="a.xlsx"),
    Good("Excel, lines before the header", lambda path: workbook(path, {"data": [["Station: Roma"], [], *sheet()]}), said="the header in line 3", file="a.xlsx"),
    Good("Excel, a named sheet", lambda path: workbook(path, {"notes": sheet([1.0] * 400), "data": sheet()}), Layout(shape=Shape(sheet="data")), file="a.xlsx"),
    Good("all set", plain(text(stamps(SLASHES, ROME), mark=";", decimal=","), "cp1252"), Layout(timezone=ROME, dates="day-first", shape=Shape(";", ",", "cp1252", 1))),
    Good("an empty column at the end", plain(text(mark=";").replace("\n", ";\n")), said="values separated by semicolons"),
    Good("words far down", plain(text() + "2018-01-01T00:00:00Z,broken,,,\n")),
    Good("epoch seconds, and words far down", plain(text([int(each.timestamp()) for each in TIMES]) + "1514764800,broken,,,\n")),
    Good("days with decimal commas, and words far down", plain(text([str(each).replace(".", ",") for each in days()], mark=";", decimal=",") + "43101,5;broken;;;\n"), IN_ROME, "values separated by semicolons, decimal commas, time stamps as days of Excel"),
    Good("short offsets, and words far down", plain(text([each[:-2] for each in stamps("%Y-%m-%d %H:%M:%S%z", ROME)]) + "2018-01-01 00:00:00+01,broken,,,\n")),
    Good("Excel, decimal commas in texts", lambda path: workbook(path, {"data": [[str(each).replace(".", ",") for each in row] for row in sheet()]}), said="decimal commas", file="a.xlsx"),
    Good("Excel, some numbers as texts with commas", lambda path: workbook(path, {"data": [[str(each).replace(".", ",") if place == 1 else each for place, each in enumerate(row)] for row in sheet()]}), said="decimal commas", file="a.xlsx"),
    Good("Excel, a number as the sensor", lambda path: workbook(path, {"data": [["sensor" if row[0] == "timestamp" else 42.0, *row] for row in sheet()]}), sensor="42", file="a.xlsx"),
)  # fmt: skip


@pytest.mark.parametrize("shape", GOOD, ids=lambda shape: shape.name)
def test_it_is_read_right(shape: Good, tmp_path: Path) -> None:
    """The same values at the same times, and one line that says what was detected."""
    path = tmp_path / shape.file
    shape.write(path)
    recording = read([path], shape.sensor, shape.layout)
    at_ms = TIMES.as_unit("ms").asi8
    for name, values in zip(NAMES[1:], (OP1, OP2, TEMPERATURE, REFERENCE), strict=True):
        series = recording.series[name]
        assert (series.at_ms.tolist(), series.values.tolist()) == (at_ms.tolist(), values.tolist()), name
    assert recording.notes == ((f"{shape.file}: read with {shape.said}",) if shape.said else ())


EXPECTED = "expected columns timestamp, op1, temperature, reference"
REFUSED: tuple[tuple[str, Callable[[Path], object], str], ...] = (
    ("empty", plain(""), "expected a header and rows, got an empty file"),
    ("only a header", plain(",".join(NAMES) + "\n"), "expected a header and rows, got no rows"),
    ("JSON", plain('[{"op1": 231.4}, {"op1": 231.5}]'), "expected CSV, Excel or Parquet, got JSON; save its rows as CSV"),
    ("JSON in one line", plain('{"op1": [' + "231.4," * 20_000 + "0]}"), "expected CSV, Excel or Parquet, got JSON; save its rows as CSV"),
    ("a web page", plain("<!DOCTYPE html><title>Log in</title>"), "expected CSV, Excel or Parquet, got HTML or XML; save its rows as CSV"),
    ("one long line", plain("1," * HEAD_BYTES), f"expected lines, got one of more than {HEAD_BYTES} bytes; is it CSV?"),
    ("no header", plain(text().partition("\n")[2]), f"{EXPECTED}, got 2017-09-12T14:53:00Z, 231.25, 206.5, 24.5, 0.75; name them with --columns timestamp=…,op1=…,temperature=…,reference=…"),
    ("another sheet", lambda path: workbook(path, {"a": sheet(), "b": sheet()}), "expected a sheet data, got a, b; name it with --sheet"),
    ("a workbook about something else", lambda path: workbook(path, {"a": [["author", "year"], ["me", 2024.0]]}), f"{EXPECTED}, got author, year; name them with --columns timestamp=…,op1=…,temperature=…,reference=…"),
    ("many files", lambda path: zipped(path, "a.csv", "b.csv"), "expected one file inside, got 2; unpack it and name them"),
    ("a cut file", lambda path: path.write_bytes(gzip.compress(text().encode())[:900]), "expected CSV, got something else or an incomplete file; --debug shows more"),
    ("binary", plain("\x00\x01\x02" * 40), "expected CSV, got something else or an incomplete file; --debug shows more"),
    ("a bundle", lambda path: path.write_bytes(encode(linear())), "expected a recording, got a bundle; check the order of the files"),
    ("an unclear date", plain(text(["05/06/2017 10:00"] * 400)), "expected dates that can be read in one way, got 05/06/2017; say which it is with --dates day-first or --dates month-first"),
    ("no time at all", plain(text(["soon"] * 400)), "expected time stamps as ISO 8601 or epoch, got 'soon' in row 1 after the header; write them like 2024-02-01T10:15:00Z"),
    ("a column twice", plain(text(names=("timestamp", "op1", "op1", "temperature", "reference"))), "expected each column once, got op1 twice; rename or remove one"),
    ("times twice in a workbook", lambda path: workbook(path, {"data": [[row[0], *row] for row in sheet(days())]}), "expected each column once, got timestamp twice; rename or remove one"),
    ("rows of another width", plain(",".join(NAMES) + "\n" + "1505227980,231.4\n" * 9), "expected 5 cells in each row as in the header, got another number in all rows; is --separator right?"),
)  # fmt: skip


@pytest.mark.parametrize(("write", "expected"), [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED])
def test_it_is_refused_with_what_to_do(
    write: Callable[[Path], object], expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    write(path)
    layout = Layout(shape=Shape(sheet="data")) if "sheet" in expected else Layout()
    with pytest.raises(BadRecording) as caught:
        read([path], "5A2D", layout)
    assert str(caught.value) == f"a.csv: {expected}"


def test_a_missing_file_and_a_folder_are_named_with_their_path(tmp_path: Path) -> None:
    for path, got in ((tmp_path / "no.csv", "no such file"), (tmp_path, "a directory")):
        with pytest.raises(BadRecording, match=got) as caught:
            read([path], "5A2D")
        assert str(caught.value).startswith(f"{path}: expected a ")


@pytest.mark.parametrize("seconds", [0, 30])
@pytest.mark.parametrize("sensor_first", [True, False])
def test_the_thermometer_of_a_station_is_not_mixed_with_the_sensors(
    tmp_path: Path, seconds: int, sensor_first: bool
) -> None:
    """A model's weights follow the temperature of the cell, not that of the air outside its box."""
    table = tidy(windows=20)
    stamps = pd.to_datetime(table["timestamp"]) + pd.Timedelta(seconds=seconds)
    sensor = table[["op1", "op2", "temperature"]].assign(timestamp=stamps)
    station = table[["timestamp", "reference"]].assign(Temperature=-40.0)[::5]
    sensor.to_csv(tmp_path / "sensor.csv", index=False)
    station.to_csv(tmp_path / "station.csv", index=False)
    names = ["sensor.csv", "station.csv"] if sensor_first else ["station.csv", "sensor.csv"]
    recording = read([tmp_path / name for name in names], "5A2D")
    np.testing.assert_allclose(recording.series["temperature"].values, table["temperature"])
    assert recording.notes == (
        "station.csv: its temperature is left out; that of the sensor's files is used",
    )


def test_a_thermometer_without_channels_is_used_where_the_sensor_has_none(tmp_path: Path) -> None:
    """Beside channels without a temperature, and in the file that follows, which may begin a little early."""
    table = tidy(windows=40)
    table[["timestamp", "op1", "op2", "reference"]].to_csv(tmp_path / "channels.csv", index=False)
    table[["timestamp", "temperature"]].to_csv(tmp_path / "air.csv", index=False)
    recording = read([tmp_path / "channels.csv", tmp_path / "air.csv"], "5A2D")
    np.testing.assert_allclose(recording.series["temperature"].values, table["temperature"])
    table[:300].to_csv(tmp_path / "before.csv", index=False)
    table[290:].drop(columns="temperature").to_csv(tmp_path / "after.csv", index=False)
    table.loc[290:, ["timestamp", "temperature"]].to_csv(tmp_path / "air.csv", index=False)
    recording = read([tmp_path / name for name in ("before.csv", "after.csv", "air.csv")], "5A2D")
    assert len(recording.series["temperature"].values) == len(table)


def test_sensor_and_reference_may_be_in_two_files(tmp_path: Path) -> None:
    """With other separators, dates and zones of their own where the stamps carry an offset."""
    table = frame().assign(timestamp=stamps())
    table.drop(columns="reference").to_csv(tmp_path / "sensor.csv", index=False)
    table[["timestamp", "reference"]].to_csv(tmp_path / "station.csv", index=False, sep=";", decimal=",")
    recording = read([tmp_path / "sensor.csv", tmp_path / "station.csv"], "5A2D")
    assert recording.series["reference"].values.tolist() == REFERENCE.tolist()
    assert recording.notes == ("station.csv: read with values separated by semicolons, decimal commas",)


def german(value: float) -> str:
    """1003.5 as 1.003,5 and 1004.0 as 1.004, as a spreadsheet may show it."""
    return f"{value:,.1f}".translate(str.maketrans(",.", ".,")).removesuffix(",0")


@pytest.mark.parametrize("first", [0, 60], ids=["at the start", "far down"])
def test_points_between_thousands_are_no_decimal_points(first: int, tmp_path: Path) -> None:
    op1 = np.where(np.arange(400) < first, 231.5, 990.0 + np.arange(400) * 0.5)
    rows = zip(stamps(), op1, OP2, TEMPERATURE, REFERENCE, strict=True)
    body = "\n".join(";".join([time, *map(german, values)]) for time, *values in rows)
    (tmp_path / "a.csv").write_text(";".join(NAMES) + "\n" + body + "\n")
    recording = read([tmp_path / "a.csv"], "5A2D")
    assert recording.series["op1"].values.tolist() == op1.tolist()
    assert recording.notes == ("a.csv: read with values separated by semicolons, decimal commas",)


def test_commas_between_thousands_are_no_decimal_commas(tmp_path: Path) -> None:
    op1 = 990.5 + np.arange(400) * 1.0
    rows = zip(stamps(), op1, OP2, TEMPERATURE, REFERENCE, strict=True)
    body = "\n".join(f'{time},"{first:,.1f}",{",".join(map(str, rest))}' for time, first, *rest in rows)
    (tmp_path / "a.csv").write_text(",".join(NAMES) + "\n" + body + "\n")
    assert read([tmp_path / "a.csv"], "5A2D").series["op1"].values.tolist() == op1.tolist()


@pytest.mark.parametrize(
    ("cells", "decimal"),
    [
        (["231,4", "1.004"], ","),
        (["231.4", "1,004"], "."),
        (["1,004", "0,834"], ","),
        (["1,004", "231,412"], ","),
        (["1.004", "231.412"], "."),
        (["1,004", "1.004"], "."),
        (["231,4", "231.4"], "."),
    ],
)
def test_three_digits_after_a_mark_may_be_thousands(cells: list[str], decimal: str) -> None:
    assert decimal_mark(cells) == decimal


def test_rows_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        text() + "2017-09-20T00:00:00Z,1\nlater,1,2,3,4\n2017-09-21T00:00:00Z,x,2,3,4\n"
    )
    dropped = read([tmp_path / "a.csv"], "5A2D").dropped
    assert dropped == {"unreadable timestamp": 1, "op1 not a number": 1, "rows of another width": 1}


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_file_is_let_go_before_its_table_is_given(tmp_path: Path, name: str) -> None:
    """A thread of Arrow holds it a moment longer. If Python ends in that moment, the process aborts."""
    path = tmp_path / name
    tidy(100).to_csv(path, index=False)
    for _ in range(30):
        read([path], "5A2D")
        opened = [one for one in gc.get_objects() if isinstance(one, BufferedReader)]
        assert str(path) not in [str(getattr(one, "name", path)) for one in opened]
