"""Web pages with embedded pictures, readable on a phone, light or dark."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure with its caption; the name is for a file beside the page."""

    figure: "Figure"
    caption: str
    name: str = ""

    @cached_property
    def png(self) -> bytes:
        """The figure as a PNG file, drawn once."""
        from model_export.figures.axes import png  # noqa: PLC0415 - a page of tables needs no matplotlib

        return png(self.figure)

    @property
    def svg(self) -> bytes:
        """The figure as an SVG file."""
        from model_export.figures.axes import svg  # noqa: PLC0415 - as above

        return svg(self.figure)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, a text, pictures and tables; the first row of a table is its header."""

    title: str
    text: str = ""
    pictures: Sequence[Picture] = ()
    tables: Sequence[Sequence[Sequence[str]]] = ()


def page(title: str, tiles: Iterable[tuple[str, str]], sections: Iterable[Section]) -> str:
    """The whole page as HTML."""
    return _PAGE.format(
        title=escape(title),
        style=_STYLE,
        tiles="".join(_tile(name, value) for name, value in tiles),
        sections="".join(map(_section, sections)),
    )


def _section(section: Section) -> str:
    heading = f"<h2>{escape(section.title)}</h2>" if section.title else ""
    text = f"<p>{escape(section.text)}</p>" if section.text else ""
    pictures = "".join(map(_picture, section.pictures))
    tables = "".join(map(_table, section.tables))
    return f'{heading}{text}<div class="pictures">{pictures}</div>{tables}'


def _tile(name: str, value: str) -> str:
    return f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>"


def _picture(picture: Picture) -> str:
    data, caption = b64encode(picture.png).decode(), escape(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    rest = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body)
    return f'<div class="scroll"><table><tr>{first}</tr>{rest}</table></div>'


_STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #666; --page: #f6f6f4; --card: #fff; --line: #ddd }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e6; --soft: #a5a5a0; --page: #181817; --card: #242423; --line: #3a3a38 }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--page); color: var(--ink);
       font: 1rem/1.45 system-ui, sans-serif }
h1 { font-size: 1.3rem } h2 { font-size: 1.05rem; margin-top: 2rem }
p { max-width: 46rem; color: var(--soft) }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .6rem }
.tiles div, figure { background: var(--card); border: 1px solid var(--line); border-radius: .5rem }
.tiles div { padding: .6rem .8rem }
.tiles b { display: block; font-size: 1.2rem; font-variant-numeric: tabular-nums }
.tiles span, figcaption { color: var(--soft); font-size: .88rem }
.pictures { columns: 26rem; column-gap: 1rem; margin-top: 1rem }
figure { margin: 0 0 1rem; overflow: hidden; break-inside: avoid }
img { display: block; width: 100%; height: auto; background: #fff }
figcaption { padding: .6rem .8rem }
.scroll { overflow-x: auto; margin-bottom: 1rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: left; font-weight: normal; padding: .2rem .9rem .2rem 0; vertical-align: top;
         border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
th { color: var(--soft) } th, td:first-child { overflow-wrap: normal }
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<div class="tiles">{tiles}</div>
{sections}
</body>
</html>
"""
