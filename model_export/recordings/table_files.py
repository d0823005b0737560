"""CSV, Excel and Parquet files as tables: what a file is, how it is written, and its rows."""

import bz2
import codecs
import csv
import gzip
import lzma
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep
from typing import Any, BinaryIO, cast
from zipfile import BadZipFile, ZipFile

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pacsv  # type: ignore[import-untyped]
from pyarrow import parquet

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import SENSOR, TIMESTAMP
from edge_agent.core.packed import is_bundle
from model_export.recordings import workbooks
from model_export.recordings.counted import Counted, Progress
from model_export.recordings.shape import Shape

HEAD_BYTES = 65_536
LOUD_BYTES = 16_777_216  # a smaller file is read before a progress bar would be seen
LINES = 60  # that are looked at
PREAMBLE = 40  # lines before a header
MOST_WAITS = 1000  # of a millisecond
PACKED: Mapping[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
FOREIGN = {b"{": "JSON", b"[": "JSON", b"<": "HTML or XML", b"%": "PDF"}
_BROKEN = (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError, BadZipFile, pa.ArrowException)
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # or a number with three decimals
_WITH_POINTS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?\s*")  # 1.003,5
_WITH_COMMAS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\.\d+\s*")  # 1,003.5
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")

Names = Callable[[Sequence[str]], Mapping[str, str]]  # a header's columns -> {theirs: ours}, those to read


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a file under our names, all names in its header, and what was detected, in words."""

    rows: pd.DataFrame
    columns: tuple[str, ...]
    said: tuple[str, ...] = ()
    ragged: int = 0  # rows with another number of cells than the header, which are left out


@dataclass(frozen=True, slots=True)
class _Found:
    """The shape of a text or a sheet, complete."""

    separator: str
    decimal: str
    encoding: str
    header: int  # from 0
    units: int  # rows after the header without a number
    names: tuple[str, ...]

    def words(self, asked: Shape) -> tuple[str, ...]:
        """What was detected and is not usual."""
        marks = SEPARATORS.get(self.separator, repr(self.separator))
        found = (
            (f"values separated by {marks}", self.separator != "," and not asked.separator),
            ("decimal commas", self.decimal == "," and not asked.decimal),
            (f"text as {self.encoding}", self.encoding != "utf-8" and not asked.encoding),
            (f"the header in line {self.header + 1}", self.header > 0 and not asked.header),
            (f"{self.units} row{'s' * (self.units > 1)} of units left out", self.units > 0),
        )
        return tuple(text for text, unusual in found if unusual)


def table(path: Path, names: Names, shape: Shape | None = None, progress: Progress | None = None) -> Table:
    """The columns of a file that `names` chooses."""
    shape = shape or Shape()
    kind = "CSV"
    try:
        with path.open("rb") as file:
            start = file.read(8)
        if is_bundle(start):
            words = "expected a recording, got a bundle; check the order of the files"
            raise BadRecording(f"{path.name}: {words}")
        if start.startswith(b"PAR1") or path.suffix == ".parquet":
            kind = "Parquet"
            found = _parquet(path, names)
        elif start.startswith(workbooks.EXCEL) and not workbooks.is_packed_text(path):
            kind = "an Excel workbook"
            found = _excel(path, names, shape)
        else:
            found = _text(path, names, shape, progress)
    except FileNotFoundError:
        raise BadRecording(f"{path}: expected a recording, got no such file; check the path") from None
    except IsADirectoryError:
        raise BadRecording(f"{path}: expected a file, got a directory; name the files in it") from None
    except _BROKEN as error:
        raise BadRecording(
            f"{path.name}: expected {kind}, got something else or an incomplete file; --debug shows more"
        ) from error
    if not len(found.rows) and found.ragged:
        raise BadRecording(
            f"{path.name}: expected {len(found.columns)} cells in each row as in the header, got another "
            "number in all rows; is --separator right?"
        )
    if not len(found.rows):
        raise BadRecording(f"{path.name}: expected a header and rows, got no rows")
    return found


def _parquet(path: Path, names: Names) -> Table:
    columns = [name for name in parquet.read_schema(path).names if not name.startswith("__index_level_")]
    chosen = names(columns)
    # Without the metadata of pandas, which would make an index of the column of times.
    rows = parquet.read_table(path, columns=[*chosen]).to_pandas(ignore_metadata=True)
    return Table(rows[[*chosen]].rename(columns=dict(chosen)), tuple(columns))


def _excel(path: Path, names: Names, shape: Shape) -> Table:
    """The first sheet with one of our columns; a date alone may be that of a title page."""
    other: tuple[str, ...] = ()
    for cells, said in workbooks.sheets(path, shape.sheet):
        texts = [[workbooks.written(cell) for cell in row] for row in cells[:LINES]]
        header = shape.header or 1 + _header([_filled(row) for row in texts])
        found = _found(texts, replace(shape, header=header), ",", "utf-8")
        chosen = names(found.names)
        if any(not ours.startswith(TIMESTAMP) for ours in chosen.values()):
            return _sheet(cells, found, chosen, (*said, *found.words(replace(shape, separator=","))))
        other = other or found.names
    return Table(pd.DataFrame(index=range(1)), other)


def _sheet(
    cells: Sequence[Sequence[Any]], found: _Found, chosen: Mapping[str, str], said: tuple[str, ...]
) -> Table:
    rows = pd.DataFrame(cells[found.header + 1 + found.units :], columns=[*found.names], dtype=object)
    rows = rows[[*chosen]].rename(columns=dict(chosen))
    rows = rows.mask(rows.map(lambda cell: isinstance(cell, str) and not cell.strip()))
    rows = rows[rows.notna().any(axis=1)].reset_index(drop=True)
    return Table(workbooks.typed(rows, found.decimal), found.names, said)


def _filled(row: Sequence[str]) -> Sequence[str]:
    """A row without the empty cells at its end: in a workbook all rows are as wide as the widest."""
    return row[: max((place for place, cell in enumerate(row, 1) if cell), default=0)]


def _text(path: Path, names: Names, shape: Shape, progress: Progress | None) -> Table:
    with _opened(path) as file:
        head = file.read(HEAD_BYTES)
    texts, separator, encoding = _lines(path.name, head, shape)
    found = _found(texts, shape, separator, encoding)
    chosen = names(found.names)
    # By place: a name may be there twice.
    picked = {str(place): chosen[name] for place, name in enumerate(found.names) if name in chosen}
    if not picked:
        return Table(pd.DataFrame(index=range(1)), found.names)
    ragged = Counter[str]()
    try:
        rows = _csv(path, found, picked, ragged, progress)
    except pa.ArrowInvalid:  # a cell that is no number, maybe far down: all as text, and a closer look
        ragged.clear()
        rows = _csv(path, found, picked, ragged, progress, as_text=True)
    rows.columns = pd.Index([*picked.values()])
    return Table(rows, found.names, found.words(shape), ragged["skip"])


def _csv(
    path: Path,
    found: _Found,
    picked: Mapping[str, str],
    ragged: Counter[str],
    progress: Progress | None,
    *,
    as_text: bool = False,
) -> pd.DataFrame:
    """The picked columns; all but times and sensors are numbers, or texts that are to become numbers."""

    def skip(_: Any) -> str:
        ragged["skip"] += 1
        return "skip"

    numbers = [place for place, ours in picked.items() if not ours.startswith((TIMESTAMP, SENSOR))]
    types = {place: pa.string() for place, ours in picked.items() if as_text or ours == SENSOR}
    types |= {place: pa.float64() for place in numbers if not as_text}
    columns = [str(place) for place in range(len(found.names))]
    with _opened(path, progress) as file, _let_go(file):
        read = pacsv.read_csv(
            file,
            pacsv.ReadOptions(
                column_names=columns, skip_rows=found.header + 1 + found.units, encoding=found.encoding
            ),
            pacsv.ParseOptions(delimiter=found.separator, invalid_row_handler=skip),
            pacsv.ConvertOptions(
                column_types=types,
                include_columns=[*picked],
                decimal_point=found.decimal,
                strings_can_be_null=True,
            ),
        )
    pa.default_memory_pool().release_unused()  # the blocks of text, twice as large as the columns
    rows: pd.DataFrame = read.to_pandas(split_blocks=True, self_destruct=True, date_as_object=False)
    del read
    pa.default_memory_pool().release_unused()
    commas = found.decimal == ","
    for place in [place for place, ours in picked.items() if as_text and ours != SENSOR]:
        grouped = rows[place].str.fullmatch(_WITH_POINTS if commas else _WITH_COMMAS).fillna(False)
        plain = rows[place].str.replace("." if commas else ",", "", regex=False)
        rows[place] = rows[place].mask(grouped, plain)
        if commas:
            rows[place] = rows[place].str.replace(workbooks.COMMA, r"\1.\2", regex=True)
    return rows


@contextmanager
def _opened(path: Path, progress: Progress | None = None) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked, whatever it is called; `progress` hears how far it is read."""
    with path.open("rb") as raw:
        start = raw.read(4)
        raw.seek(0)
        size = path.stat().st_size
        counted = Counted(raw, size, progress) if progress and size > LOUD_BYTES else raw
        unpack = PACKED.get(start[:2])
        if start == workbooks.ZIP:
            with ZipFile(path) as archive, archive.open(archive.namelist()[0]) as member:
                yield cast(BinaryIO, member)
        elif unpack:
            with unpack(cast(BinaryIO, counted), "rb") as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            yield cast(BinaryIO, counted)


@contextmanager
def _let_go(file: BinaryIO) -> Iterator[None]:
    """Wait at the end until nobody else holds the file.

    A thread of Arrow holds it for about a millisecond after its last read. If Python ends before that, as
    after a refusal of the file, the process aborts.
    """
    holders = sys.getrefcount(file)
    try:
        yield
    finally:
        for _ in range(MOST_WAITS):
            if sys.getrefcount(file) <= holders:
                break
            sleep(0.001)


def _lines(name: str, head: bytes, shape: Shape) -> tuple[list[list[str]], str, str]:
    """The first lines in cells, with the separator and the encoding."""
    encoding = shape.encoding or _encoding(head)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head).removeprefix("\ufeff")
    if not text.strip():
        raise BadRecording(f"{name}: expected a header and rows, got an empty file")
    if foreign := FOREIGN.get(text.lstrip()[:1].encode(errors="replace")):
        raise BadRecording(f"{name}: expected CSV, Excel or Parquet, got {foreign}; save its rows as CSV")
    if "\x00" in text:
        raise BadRecording(
            f"{name}: expected CSV, got something else or an incomplete file; --debug shows more"
        )
    lines = text.splitlines()
    if len(head) == HEAD_BYTES:
        lines = lines[:-1]
    if not lines:
        raise BadRecording(f"{name}: expected lines, got one of more than {HEAD_BYTES} bytes; is it CSV?")
    lines = lines[:LINES]
    declared = re.fullmatch(r"\W*sep=(.)\W*", lines[0])  # what Excel writes, and reads
    separator = shape.separator or (declared[1] if declared else _separator(lines))
    return [[cell.strip() for cell in row] for row in _cells(lines, separator)], separator, encoding


def _encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _cells(lines: Sequence[str], separator: str) -> list[list[str]]:
    """One row a line, so that the numbers of rows are those of lines."""
    return [next(csv.reader([line], delimiter=separator), []) for line in lines]


def _separator(lines: Sequence[str]) -> str:
    """The mark that cuts the most lines into the same number of cells, at least two."""

    def alike(separator: str) -> tuple[int, int]:
        widths = Counter(len(row) for row in _cells(lines, separator) if len(row) > 1)
        return max(((count, width) for width, count in widths.items()), default=(0, 0))

    # With decimal commas both cut: the header has as many semicolons as the rows, but fewer commas.
    return max(SEPARATORS, key=lambda separator: (alike(separator)[0], len(_cells(lines[:1], separator)[0])))


def _found(texts: Sequence[Sequence[str]], shape: Shape, separator: str, encoding: str) -> _Found:
    """The header, the rows of units and the decimal mark in the first rows."""
    header = _header(texts) if shape.header is None else shape.header - 1
    if not 0 <= header < len(texts):
        raise BadRecording(f"--header: expected a line from 1 to {len(texts)}, got {shape.header}")
    after = texts[header + 1 :]
    units = next((place for place, row in enumerate(after[:3]) if any(map(_is_value, row))), 0)
    cells = [cell for row in after for cell in row]
    decimal = shape.decimal or decimal_mark(cells)
    return _Found(separator, decimal, encoding, header, units, tuple(texts[header]))


def decimal_mark(cells: Sequence[str]) -> str:
    """The mark in numbers; three digits after it may be thousands, and do not count if others decide."""
    commas, points = ({*filter(mark.fullmatch, cells)} for mark in (_WITH_COMMA, _WITH_POINT))
    unclear = {*filter(_THOUSANDS.fullmatch, commas | points)}
    return "," if commas and (not points or (commas - unclear and not points - unclear)) else "."


def _header(texts: Sequence[Sequence[str]]) -> int:
    """The first row that is as wide as most, and is no comment."""
    widths = Counter(len(row) for row in texts if len(row) > 1)
    usual = widths.most_common(1)[0][0] if widths else 1
    rows = enumerate(texts[:PREAMBLE])
    return next((place for place, row in rows if len(row) >= usual and not row[0].startswith("#")), 0)


def _is_value(cell: str) -> bool:
    """A number or a time; a unit is neither."""
    return bool(_NUMBER.fullmatch(cell)) or bool(re.match(r"\d+[-./:]\d+", cell))
