"""Figures for people: one line each with its bound, or a table in Markdown."""

import time
from collections.abc import Callable

import pandas as pd


def row(
    what: str, value: float, unit: str, at_most: float | None = None, at_least: float | None = None
) -> bool:
    """Print a figure beside its bound; return whether it is within."""
    holds = (at_most is None or value <= at_most) and (at_least is None or value >= at_least)
    bound = f"<= {at_most:g}" if at_most is not None else f">= {at_least:g}" if at_least is not None else ""
    if at_most is not None and at_least is not None:
        bound = f"{at_least:g} to {at_most:g}"
    mark = "" if not bound else "ok" if holds else "MISSED"
    print(f"{what:<66} {value:>12,.3f} {unit:<10} {bound:<10} {mark}", flush=True)
    return holds


def cpu_us(function: Callable[[], object], times: int, rounds: int = 5) -> float:
    """The best CPU time of one call in microseconds: the least disturbed round on a shared machine."""
    best = float("inf")
    for _ in range(rounds):
        before = time.process_time()
        for _ in range(times):
            function()
        best = min(best, time.process_time() - before)
    return best / times * 1e6


def markdown(table: pd.DataFrame, digits: int) -> str:
    """A table of numbers, one row a method or part."""
    lines = [f"| | {' | '.join(table.columns)} |", "|---|" + "--:|" * table.shape[1]]
    lines += [
        f"| {name} | {' | '.join(f'{cell:.{digits}f}' for cell in row)} |" for name, row in table.iterrows()
    ]
    return "\n".join(lines)
