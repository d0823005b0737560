"""Excel workbooks as small as they can be: a zip file of XML, written without a library."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZipFile

TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"

Cell = str | float | None


def workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[Cell]]]) -> Path:
    """Write sheets of texts and numbers; a date is a number of days since 1899-12-30."""
    names, numbers = list(sheets), range(len(sheets))
    with ZipFile(path, "w") as book:
        parts = "".join(
            f'<Override PartName="/xl/s{n}.xml" ContentType="{SHEET}.worksheet+xml"/>' for n in numbers
        )
        book.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{TYPES}"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{SHEET}.sheet.main+xml"/>{parts}</Types>',
        )
        target = f'<Relationship Id="r" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
        book.writestr("_rels/.rels", f'<Relationships xmlns="{LINKS}">{target}</Relationships>')
        listed = "".join(f'<sheet name="{names[n]}" sheetId="{n + 1}" r:id="r{n}"/>' for n in numbers)
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
        links = "".join(
            f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="s{n}.xml"/>' for n in numbers
        )
        book.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{LINKS}">{links}</Relationships>')
        for n, rows in enumerate(sheets.values()):
            data = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
            page = f'<worksheet xmlns="{MAIN}"><sheetData>{data}</sheetData></worksheet>'
            book.writestr(f"xl/s{n}.xml", page)
    return path


def _cell(value: Cell) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value!r}</v></c>"
