"""The page of a run: every sensor in one table, worst first, with what to do."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from model_export.figures.webpage import Section
from model_export.figures.webpage import page as as_page
from model_export.fleet.ledger import STATES, Row

MOST = 1_000  # rows; a browser is slow with more, and the table of all is results.parquet
HEAD = ("sensor", "agreement with the reference", "what was found, and what to do")
TEXT = (
    "Worst first: sensors without a bundle, then those whose bundle explains least. The agreement is that of "
    "the last windows of the recording, which were not fitted. A bundle made by transfer has no reference to "
    "be judged by."
)
MEANING = {
    "refused": "refused: no bundle",
    "new": "new: had no bundle",
    "improved": "improved: replaces a bundle",
    "unchanged": "unchanged: the bundle in use is as good",
}


def page(rows: Sequence[Row], skipped: Sequence[tuple[str, str]]) -> str:
    """The whole page as HTML."""
    counts, known = (
        Counter(row["state"] for row in rows),
        [row["r2"] for row in rows if row["r2"] is not None],
    )
    tiles = [("sensors", f"{len(rows):,}"), *((MEANING[state], f"{counts[state]:,}") for state in STATES)]
    tiles.append(("median R²", f"{median(known):.2f}" if known else "–"))
    ordered = worst_first(rows)
    more = f" Of {len(rows):,} sensors the first {MOST:,} are shown." if len(rows) > MOST else ""
    sections = [Section("Sensors", TEXT + more, tables=[[HEAD, *map(_cells, ordered[:MOST])]])]
    notes = [(row["sensor"], "; ".join(row["notes"])) for row in ordered[:MOST] if row["notes"]]
    if notes:
        words = "What the program noticed when it read the recordings. A wrong unit or time zone shows here."
        sections.append(Section("Recordings", words, tables=[[("sensor", "what was noticed"), *notes]]))
    if skipped:
        words = "These lines of the manifest cannot be used."
        sections.append(Section("Skipped", words, tables=[[("what", "why"), *skipped]]))
    return as_page("The fleet's calibrations", tiles, sections)


def worst_first(rows: Sequence[Row]) -> list[Row]:
    """Refused sensors, then by R² on unseen windows; those without one come last."""
    return sorted(rows, key=lambda row: (row["state"] != "refused", _r2(row), row["sensor"]))


def _r2(row: Row) -> float:
    return float(row["r2"]) if row["r2"] is not None else 2.0


def _cells(row: Row) -> tuple[str, ...]:
    found = (row["reason"] or "No fault found").rstrip(".")
    return f"{row['sensor']}: {row['state']}", _agreement(row), f"{found}. {row['advice'] or ''}".strip()


def _agreement(row: Row) -> str:
    """R² 0.95, RMSE 0.21 ppm (before 0.30), 93 % in the 90 % interval; T-W."""
    if row["transferred_from"]:
        return f"transferred from {row['transferred_from']}; {row['dataset']}"
    if row["r2"] is None:
        return f"none; {row['dataset'] or 'no recording'}"
    before = "" if row["rmse_current"] is None else f" (before {row['rmse_current']:.3g})"
    inside = "" if row["level"] is None else f", {row['coverage']:.0%} in the {row['level']:.0%} interval"
    return f"R² {row['r2']:.2f}, RMSE {row['rmse']:.3g} {row['unit']}{before}{inside}; {row['dataset']}"
