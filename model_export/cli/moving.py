"""`model-export adapt` and `transfer`: another bundle from a bundle, for another place or another sensor."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from model_export.cli.console import print_result
from model_export.cli.options import Bundle, MaybeData, Out, Sensor, Strict, reading

if TYPE_CHECKING:
    from model_export.calibration.fit import Source


@reading("window")
def adapt(
    bundle: Bundle,
    data: MaybeData = None,
    *,
    out: Out,
    from_journal: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Use a van's journal instead of DATA; it needs [reference]."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Unit of the journal's reference, instead of the agent's.")
    ] = None,
    half_life: Annotated[
        float, typer.Option(min=0.0, help="Days after which a window counts half; 0: all count the same.")
    ] = 7.0,
    gain_spread: Annotated[
        float, typer.Option(min=0.0, help="How far from 1 the gain is expected; 0: anywhere.")
    ] = 0.5,
    source: "Source",
    strict: Strict = False,
) -> None:
    """Correct a bundle for another place by a gain and an offset.

    Repeat it every few weeks with the newest windows, because sensors drift.

    \b
    model-export adapt 5A2D.bundle march.csv --out 5A2D-march.bundle
    model-export adapt 5A2D.bundle march.csv --half-life 0 --gain-spread 0 --out 5A2D-march.bundle
    model-export adapt 5A2D.bundle --from-journal journal.db --out 5A2D-here.bundle
    """
    if bool(data) == bool(from_journal):
        raise typer.BadParameter("expected either DATA or --from-journal")
    from model_export.calibration.adapt import Adapting  # noqa: PLC0415 - --help need not wait
    from model_export.cli import commands  # noqa: PLC0415 - as above

    how, share = Adapting(half_life or None, gain_spread or None), source.test_share
    if from_journal:
        _require_data_unread(source, strict)
        print_result(
            commands.adapt_from_journal(bundle, from_journal, out, how=how, test_share=share, unit=unit)
        )
        return
    if unit:
        raise typer.BadParameter("expected --from-journal beside --unit")
    print_result(commands.adapt(bundle, data or [], out, how=how, source=source, strict=strict))


def _require_data_unread(source: "Source", strict: bool) -> None:
    """Refuse options that only say how DATA is read or examined; a journal needs none of them."""
    from model_export.calibration.fit import Source  # noqa: PLC0415 - as above

    if strict or source != Source(test_share=source.test_share, window_ms=source.window_ms):
        raise typer.BadParameter("expected --from-journal without --strict and without options for DATA")


@reading("window", "reference", "shift", "swap", "test_share")
def transfer(
    bundle: Bundle,
    *,
    beside: Annotated[
        list[Path],
        typer.Option("--source", metavar="DATA", help="Recording of the bundle's sensor; may be repeated."),
    ],
    target: Annotated[
        list[Path],
        typer.Option(metavar="DATA", help="Recording of the other sensor at the same time; may be repeated."),
    ],
    sensor: Sensor,
    out: Out,
    source: "Source",
    strict: Strict = False,
) -> None:
    """Make a bundle for another sensor, without a reference.

    The two sensors must have been side by side for a while.

    \b
    model-export transfer 5A2D.bundle --source january.csv --target 5CB6.csv --sensor 5CB6 --out 5CB6.bundle
    """
    from model_export.cli import commands  # noqa: PLC0415 - as above

    print_result(commands.transfer(bundle, beside, target, sensor, out, source=source, strict=strict))
