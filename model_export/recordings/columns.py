"""Columns as people name them in an option or a manifest: two for one of ours, or one that is missing."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import SENSOR, TIMESTAMP
from model_export.recordings.recording import REFERENCE, TEMPERATURE

JOIN = "+"  # date+time: two columns for one of ours
_SPELLINGS = str.maketrans({"µ": "u", "μ": "u", "³": "3", "^": "", " ": ""})  # two signs for micro
UNITS = ("ppm", "ppb", "mg/m3", "ug/m3")
NOT_CHANNELS = (TIMESTAMP, SENSOR, TEMPERATURE, REFERENCE)


def parse_columns(text: str) -> dict[str, str]:
    """{our name: their column} from --columns or a manifest; ValueError says what was expected.

    >>> parse_columns("op1=co_we, op2=co_ae")
    {'op1': 'co_we', 'op2': 'co_ae'}
    """
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    if any(not ours.strip() or not theirs.strip() for ours, _, theirs in pairs):
        raise ValueError(f"expected op1=co_we,op2=co_ae,… got {text!r:.80}")
    columns = {ours.strip(): theirs.strip() for ours, _, theirs in pairs}
    if len(columns) < len(pairs) or len({*columns.values()}) < len(pairs):
        raise ValueError(f"expected each name once, got {text!r:.80}")
    return columns


def plain_unit(text: str) -> str:
    """A unit of a gas in one spelling; empty if it is none that we know.

    >>> plain_unit("[µg/m³]"), plain_unit("PPB"), plain_unit("mV")
    ('ug/m3', 'ppb', '')
    """
    unit = text.strip("[]() ").lower().translate(_SPELLINGS).removesuffix("v")
    return unit if unit in UNITS else ""


def joined(rows: pd.DataFrame) -> pd.DataFrame:
    """Parts of one of our columns, such as a date and a time, joined by a space."""
    parts = [str(name) for name in rows.columns if JOIN in str(name)]
    for ours in dict.fromkeys(name.partition(JOIN)[0] for name in parts):
        own = sorted(name for name in parts if name.startswith(f"{ours}{JOIN}"))
        text = _text(rows[own[0]])
        for name in own[1:]:
            text = text.str.cat(_text(rows[name]), sep=" ")
        rows = rows.drop(columns=own).assign(**{ours: text})
    return rows


def _text(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A date without its midnight."""
    return column.astype("string").str.removesuffix(" 00:00:00")


def without_columns(
    name: str, missing: Sequence[str], found: Sequence[str], columns: Mapping[str, str]
) -> BadRecording:
    """The refusal of files that have other columns; `columns` are {our name: their column} as asked for."""
    theirs = ", ".join(columns.get(ours, ours) for ours in missing)
    # An unknown name on the left of = may be a typing error.
    unknown = {
        theirs: f"{ours}={theirs}"
        for ours, theirs in columns.items()
        if ours not in NOT_CHANNELS and not re.fullmatch(r"op\d+", ours)
    }
    got = ", ".join(unknown.get(column, column) for column in found)
    names = "our names for --columns are timestamp, op1, op2, …, temperature and reference"
    return BadRecording(
        f"{name}: expected {'columns' if missing[1:] else 'a column'} {theirs}, got {got}; "
        f"{names if unknown else _advice(missing, columns)}"
    )


def _advice(missing: Sequence[str], columns: Mapping[str, str]) -> str:
    """How to map the missing columns."""
    if all(name in columns for name in missing):
        return f"correct --columns {','.join(f'{name}={columns[name]}' for name in missing)}"
    return (
        f"name {'them' if missing[1:] else 'it'} with --columns {','.join(f'{name}=…' for name in missing)}"
    )
