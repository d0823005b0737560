"""Columns that reach a limit of the amplifier or the logger: many values are equal to the extreme."""

from collections.abc import Iterator, Sequence

from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.piles import SIDES, Pile, Side, pile

GRAVE = 0.01  # share of the values


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """Columns that are clipped at their highest or lowest value.

    Statistic: the count of the extreme, beside the counts of the LEVELS values next to it.
    Null: the extreme is as common as each of those, so its count is binomial.
    Threshold: a probability of RARE, and at least VISITS separate visits.
    """
    for case in cases:
        for column, series in case.recording.series.items():
            for side in SIDES:
                if (found := pile(series, side)).clipped:
                    yield _finding(case, column, side, found, found.count / len(series.values))


def _finding(case: Case, column: str, side: Side, found: Pile, share: float) -> Finding:
    evidence = {
        "column": column,
        "side": side,
        "value": found.extreme,
        "values": found.count,
        "share": share,
        "visits": found.visits,
        "chance": found.chance,
    }
    return case.finding(
        "clipped_channel",
        "error" if share > GRAVE else "warning",
        evidence,
        f"{column} is clipped at its {side} value {found.extreme:g}: {share:.1%} of its values, in "
        f"{found.visits} visits",
        f"Values beyond {found.extreme:g} were lost. Cut those minutes out before fitting, and lower the "
        "amplifier's gain or widen the logger's range.",
    )
