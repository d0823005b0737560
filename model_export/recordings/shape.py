"""How a file is written, as far as a person says it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """How a file is written; None is detected."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: int | None = None  # the line with the names of the columns, from 1
    sheet: str | None = None  # of a workbook
