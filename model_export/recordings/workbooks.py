"""Excel workbooks, and zip files that are none: their cells, and the times in them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pandas as pd

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import SENSOR, TIMESTAMP

ZIP = b"PK\x03\x04"
EXCEL = (ZIP, b"\xd0\xcf\x11\xe0")
COMMA = re.compile(r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$")  # a number with a decimal comma


def sheets(path: Path, sheet: str | None) -> Iterator[tuple[list[list[Any]], tuple[str, ...]]]:
    """The cells of the named sheet, or of each with rows, and which of several it is, in words."""
    from python_calamine import CalamineError, CalamineWorkbook  # noqa: PLC0415 - only for workbooks

    try:
        book = CalamineWorkbook.from_path(str(path))
        filled = [name for name in book.sheet_names if book.get_sheet_by_name(name).height > 1]
        if not filled or (sheet and sheet not in filled):
            raise BadRecording(
                f"{path.name}: expected a sheet {sheet or 'with rows'}, got "
                f"{', '.join(filled) or 'none'}; name it with --sheet"
            )
        for name in [sheet] if sheet else filled:
            said = (f"sheet {name} of {len(filled)}",) if filled[1:] and not sheet else ()
            yield book.get_sheet_by_name(name).to_python(skip_empty_area=False), said
    except CalamineError as error:
        raise OSError(str(error)) from error


def written(cell: Any) -> str:
    """A cell as text; a number without its decimals, because a workbook has no mark before them."""
    return f"{cell:.0f}" if isinstance(cell, float) else str(cell).strip()


def typed(rows: pd.DataFrame, decimal: str) -> pd.DataFrame:
    """Rows with times as such, texts with decimal commas as numbers, and a sensor's number as its name."""
    for name in rows.columns if decimal == "," else ():
        rows[name] = rows[name].map(lambda cell: COMMA.sub(r"\1.\2", cell) if isinstance(cell, str) else cell)
    if [*rows.columns].count(TIMESTAMP) == 1:
        rows[TIMESTAMP] = times(rows[TIMESTAMP])
    if [*rows.columns].count(SENSOR) == 1:
        rows[SENSOR] = rows[SENSOR].map(written)
    return rows


def times(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Days of Excel are rounded to seconds: 16:53:00 may come as 16:52:59.999."""
    if column.map(lambda cell: hasattr(cell, "year")).mean() > 0.5:
        return pd.to_datetime(column, errors="coerce").dt.round("s")
    if column.map(lambda cell: isinstance(cell, int | float)).all():
        return column.astype(float)
    return column


def is_packed_text(path: Path) -> bool:
    """Whether a zip file holds one table and no workbook."""
    with path.open("rb") as file:
        if file.read(4) != ZIP:
            return False
    with ZipFile(path) as archive:
        names = archive.namelist()
    if "[Content_Types].xml" in names or len(names) == 0:
        return False
    if names[1:]:
        raise BadRecording(
            f"{path.name}: expected one file inside, got {len(names)}; unpack it and name them"
        )
    return True
