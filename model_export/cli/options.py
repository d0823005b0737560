"""Options and arguments that several commands share, and the parsers of their values."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Kernel = Literal["matern12", "matern32", "matern52", "rbf"]
Reference = Literal["auto", "average", "start", "end"]


def _columns(text: str) -> dict[str, str]:
    from model_export.recordings.tables import parse_columns  # noqa: PLC0415 - --help need not wait for pandas

    try:
        return parse_columns(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _size(text: str) -> int:
    """A number of support vectors; 0 is automatic."""
    if text == "auto":
        return 0
    if not text.isdecimal() or not int(text):
        raise typer.BadParameter(f"expected auto or a number above 0, got {text!r}")
    return int(text)


def _sizes(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.isdecimal() and int(word) for word in words):
        raise typer.BadParameter(f"expected numbers above 0 such as 4,8,16, got {text!r}")
    return tuple(map(int, words))


Data = Annotated[list[Path], typer.Argument(help="CSV or Parquet files of one sensor.", metavar="DATA")]
Bundle = Annotated[Path, typer.Argument(help="A bundle file.", metavar="BUNDLE")]
Sensor = Annotated[str, typer.Option(help="The sensor's id, as in its MQTT topics.")]
Out = Annotated[Path, typer.Option(help="The bundle to write.")]
Columns = Annotated[
    Any, typer.Option(parser=_columns, metavar="OURS=THEIRS,…", help="Column names, such as op1=co_we.")
]
Timezone = Annotated[
    str | None, typer.Option(help="Time zone of timestamps without one, such as Asia/Kolkata.")
]
Stamp = Annotated[
    Reference,
    typer.Option(
        "--reference", help="Average the reference, or use it as it is, stamped at the start or the end."
    ),
]
Share = Annotated[
    float,
    typer.Option("--test-share", min=0.0, max=0.9, help="Share of the last windows, kept for the test."),
]
Size = Annotated[Any, typer.Option(parser=_size, metavar="N|auto", help="Number of support vectors.")]
Sizes = Annotated[Any, typer.Option(parser=_sizes, metavar="N,N,…", help="Sizes to compare.")]
Plot = Annotated[Path | None, typer.Option(help="Write a PNG.")]
