"""Options and arguments that several commands share, and the parsers of their values."""

from collections.abc import Callable
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from model_export.calibration.fit import Source

Value = TypeVar("Value")
Kernel = Literal["matern12", "matern32", "matern52", "rbf"]
LONGEST_DAYS = 3_660
Reference = Literal["auto", "average", "start", "end"]


def _columns(text: str) -> dict[str, str]:
    from model_export.recordings.columns import parse_columns  # noqa: PLC0415 - --help need not wait for pandas

    return _usage(parse_columns, text) if text else {}


def _minutes(text: str) -> int:
    from model_export.recordings.stamps import parse_minutes  # noqa: PLC0415 - as above

    return _usage(parse_minutes, text) if text else 0


def _window(text: str) -> int:
    from model_export.recordings.stamps import parse_window  # noqa: PLC0415 - as above

    return _usage(parse_window, text)


def _pair(text: str) -> tuple[str, ...]:
    from model_export.recordings.mending import parse_swap  # noqa: PLC0415 - as above

    return _usage(parse_swap, text) if text else ()


def _limits(text: str) -> dict[str, float]:
    from model_export.recordings.mending import parse_limits  # noqa: PLC0415 - as above

    return _usage(parse_limits, text) if text else {}


def _usage(parse: Callable[[str], Value], text: str) -> Value:
    """The parsed text; what a parser refuses is an error of usage."""
    try:
        return parse(text)
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


def _days(text: str) -> int:
    """A number of days from 180d; 0 for none."""
    if text == "none":
        return 0
    number = text.removesuffix("d")
    if not text.endswith("d") or not number.isdecimal() or not 0 < int(number) <= LONGEST_DAYS:
        raise typer.BadParameter(f"expected 1d to {LONGEST_DAYS}d, or none, got {text!r}")
    return int(number)


def address(broker: str) -> tuple[str, int]:
    """The host and the port of HOST:PORT."""
    host, _, port = broker.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise typer.BadParameter(f"expected HOST:PORT, got {broker!r}", param_hint="--broker")
    return host.removeprefix("[").removesuffix("]"), int(port)  # [::1]:1883


Data = Annotated[
    list[Path], typer.Argument(help="CSV, Excel or Parquet files of one sensor.", metavar="DATA")
]
MaybeData = Annotated[
    list[Path] | None, typer.Argument(help="CSV, Excel or Parquet files of one sensor.", metavar="DATA")
]
Bundle = Annotated[Path, typer.Argument(help="A bundle file.", metavar="BUNDLE")]
Sensor = Annotated[str, typer.Option(help="The sensor's id, as in its MQTT topics.")]
Out = Annotated[Path, typer.Option(help="The bundle to write.")]
Columns = Annotated[
    Any,
    typer.Option(
        parser=_columns,
        metavar="OURS=THEIRS,…",
        help="Column names, such as op1=co_we or timestamp=Date+Time.",
    ),
]
Timezone = Annotated[
    str | None, typer.Option(help="Time zone of timestamps without one, such as Asia/Kolkata.")
]
Stamp = Annotated[
    Reference,
    typer.Option(
        "--reference",
        help="Average the reference, or use its values as means, with the time of their start or end.",
    ),
]
Share = Annotated[
    float,
    typer.Option("--test-share", min=0.0, max=0.9, help="Share of the last windows, kept for the test."),
]
SensorType = Annotated[
    Literal["electrochemical", "metal-oxide"],
    typer.Option(help="A metal-oxide signal is raised to a power, chosen on the train part; no warming."),
]
Size = Annotated[Any, typer.Option(parser=_size, metavar="N|auto", help="Number of support vectors.")]
Sizes = Annotated[Any, typer.Option(parser=_sizes, metavar="N,N,…", help="Sizes to compare.")]
Window = Annotated[
    Any, typer.Option(parser=_window, metavar="N(min|h)", help="Length of the windows, 5min to 24h.")
]
Dates = Annotated[
    Literal["auto", "day-first", "month-first"], typer.Option(help="Order of dates such as 09/12/2017.")
]
Separator = Annotated[str | None, typer.Option(metavar="MARK", help="Mark between values: , ; tab or |.")]
Decimal = Annotated[str | None, typer.Option(metavar="MARK", help="Decimal mark of numbers: . or a comma.")]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Encoding of text files, such as utf-8 or cp1252.")
]
Header = Annotated[int | None, typer.Option(min=1, metavar="LINE", help="Line with the column names.")]
Sheet = Annotated[str | None, typer.Option(metavar="NAME", help="Sheet of an Excel workbook.")]
Shift = Annotated[
    Any,
    typer.Option(
        "--shift-reference",
        parser=_minutes,
        metavar="N(min|h)",
        help="Time to add to the reference's time stamps.",
    ),
]
Swap = Annotated[
    Any, typer.Option(parser=_pair, metavar="OURS,OURS", help="Two columns to exchange, such as op1,op2.")
]
Below = Annotated[
    Any,
    typer.Option(
        "--drop-below", parser=_limits, metavar="OURS=N,…", help="Drop lower values, such as op1=-100."
    ),
]
Above = Annotated[
    Any,
    typer.Option(
        "--drop-above", parser=_limits, metavar="OURS=N,…", help="Drop higher values, such as op1=60000."
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Write nothing and exit 1 if the recording has a grave fault.")
]
ValidFor = Annotated[
    Any,
    typer.Option(
        parser=_days, metavar="Nd|none", help="Days after which estimates are flagged as calibration_old."
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(help="Write a report (HTML), and a folder with its plots (SVG) and numbers (CSV)."),
]
Plot = Annotated[Path | None, typer.Option(help="Write a plot (PNG).")]


def _source(
    *,
    columns: Columns = "",
    timezone: Timezone = None,
    reference: Stamp = "auto",
    window: Window = "15min",
    dates: Dates = "auto",
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    sheet: Sheet = None,
    shift: Shift = "",
    swap: Swap = "",
    below: Below = "",
    above: Above = "",
    test_share: Share = 0.2,
) -> "Source":
    """How files are read, from the options of `reading`."""
    from model_export.calibration.fit import Source  # noqa: PLC0415 - as above
    from model_export.recordings.mending import Mending  # noqa: PLC0415 - as above
    from model_export.recordings.shape import Shape  # noqa: PLC0415 - as above
    from model_export.recordings.tables import Layout  # noqa: PLC0415 - as above

    asked = shift or swap or below or above
    mending = Mending(shift, swap, below, above) if asked else None
    shape = Shape(_mark(separator), decimal, encoding, header, sheet)
    return Source(Layout(columns, timezone, mending, dates, shape), reference, test_share, window)


def _mark(separator: str | None) -> str | None:
    mark = "\t" if separator == "tab" else separator
    if mark is not None and len(mark) != 1:
        raise typer.BadParameter(f"expected one of , ; | or tab, got {separator!r}", param_hint="--separator")
    return mark


class Plain(TyperCommand):
    """A command whose --help shows DATA... instead of <list[Path]>; typer has no setting for that."""

    def get_help(self, ctx: Any) -> str:
        """The text of --help."""
        return super().get_help(ctx).replace("DATA <list[Path]>", "DATA...          ")


def reading(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `_source` in the place of its parameter `source`."""
    options = [one for one in signature(_source).parameters.values() if one.name not in left_out]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(**given: Any) -> None:
            source = _source(**{one.name: given.pop(one.name) for one in options})
            function(**given, source=source)

        own = [one for one in signature(function).parameters.values() if one.name != "source"]
        command.__signature__ = Signature([*own, *options])  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in (*own, *options)}
        return command

    return decorate
