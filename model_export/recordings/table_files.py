"""CSV and Parquet files as tables, and one clear line for each way in which a file is neither."""

import zlib
from lzma import LZMAError
from pathlib import Path
from zipfile import BadZipFile

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]

from edge_agent.core.errors import BadRecording

_UNREADABLE = (OSError, ValueError, EOFError, zlib.error, LZMAError, BadZipFile, pa.ArrowException)
_SEPARATORS = {";": "a semicolon", "\t": "a tab", "|": "a bar"}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def table(path: Path) -> pd.DataFrame:
    """The rows of a file, under the names in its header."""
    kind = "Parquet" if path.suffix == ".parquet" else "CSV"
    try:
        rows = pd.read_parquet(path, engine="pyarrow") if kind == "Parquet" else _csv(path)
    except FileNotFoundError:
        raise BadRecording(f"{path}: expected a recording, got no such file; check the path") from None
    except IsADirectoryError:
        raise BadRecording(f"{path}: expected a file, got a directory; name the files in it") from None
    except pd.errors.EmptyDataError:
        raise BadRecording(f"{path.name}: expected a header and rows, the file is empty") from None
    except _UNREADABLE as error:
        raise BadRecording(
            f"{path.name}: expected {kind}, got something else or a cut file; --debug shows more"
        ) from error
    if rows.empty:
        raise BadRecording(f"{path.name}: expected a header and rows, got no rows")
    return rows.reset_index(drop=True)


def _csv(path: Path) -> pd.DataFrame:
    with path.open("rb") as file:
        if file.read(2) in _UTF16:
            raise BadRecording(f"{path.name}: expected UTF-8, got UTF-16; save it as CSV UTF-8")
    header = [*map(str, pd.read_csv(path, header=None, nrows=1, dtype=str).iloc[0])]
    _require_commas(header, path.name)
    rows = pd.read_csv(path, low_memory=False)
    if len(set(header)) < len(header) == len(rows.columns):
        rows.columns = pd.Index(header)  # pandas would call a second op1 op1.1
    return rows


def _require_commas(header: list[str], name: str) -> None:
    found = next((words for mark, words in _SEPARATORS.items() if mark in header[0]), None)
    if len(header) == 1 and found:
        raise BadRecording(
            f"{name}: expected values separated by commas, got {found} in between; "
            "save it with commas, and points in numbers"
        )
