"""A run over a fleet on disk: one file a sensor, written by rename, so that a killed run can be resumed.

OUT/sensors/5A2D.json      the row of a sensor, with a digest of all that it was made from
OUT/bundles/5A2D.bundle    its bundle, written before the row
OUT/results.parquet        all rows
OUT/index.html             the same as a page, worst first
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from edge_agent.core import bundle as bundles
from edge_agent.core.errors import BadBundle, BadSettings, RespireError
from model_export.files import remove_leftovers, require_folder, write_atomically

State = Literal["new", "improved", "unchanged", "refused"]
STATES: tuple[State, ...] = ("refused", "new", "improved", "unchanged")

Row = dict[str, Any]  # one sensor
TEXT, REAL, WHOLE = pa.string(), pa.float64(), pa.int64()
COLUMNS = {
    **dict.fromkeys(("sensor", "state", "reason", "advice", "gas", "unit", "dataset"), TEXT),
    **dict.fromkeys(("n_train", "n_test"), WHOLE),
    **dict.fromkeys(("r2", "rmse", "bias", "coverage", "level", "rmse_current"), REAL),
    **dict.fromkeys(("adapted_on", "transferred_from", "current", "bundle", "version", "until"), TEXT),
    "valid_until": TEXT,
    "findings": pa.list_(TEXT),
    "notes": pa.list_(TEXT),  # what the reader of the recordings noticed
    "recordings": pa.list_(pa.struct([("path", TEXT), ("sha256", TEXT)])),
    "digest": TEXT,
}


@dataclass(frozen=True, slots=True)
class Ledger:
    """The files of one run."""

    folder: Path

    def begin(self, resume: bool) -> None:
        """Refuse a folder with rows of another run, unless it is to be resumed, or with bundles of no run."""
        rows = self.folder / "sensors"
        if not resume and any(rows.glob("*.json")):
            raise BadSettings(
                f"{self.folder}: expected an empty folder, got a run; add --resume to go on with it"
            )
        if not rows.is_dir() and any(self.folder.glob("bundles/*.bundle")):
            raise BadSettings(
                f"{self.folder}: expected an empty folder, got bundles/ that is of no run; name another --out"
            )
        require_folder(rows)

    def row(self, sensor: str, digest: str) -> Row | None:
        """The row of a sensor, if it was made from the same files and settings and its bundle is there."""
        try:
            row: Any = json.loads((self.folder / "sensors" / f"{sensor}.json").read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(row, dict) or row.keys() != COLUMNS.keys() or row["digest"] != digest:
            return None
        return row if row["bundle"] is None or self._id(sensor) == row["bundle"] else None

    def _id(self, sensor: str) -> str | None:
        """The id of a sensor's bundle; a run that was killed may have left one that is not of its row."""
        try:
            return bundles.decode(self.bundle(sensor).read_bytes()).id
        except (OSError, BadBundle):
            return None

    def bundle(self, sensor: str) -> Path:
        """Where the bundle of a sensor is."""
        return self.folder / "bundles" / f"{sensor}.bundle"

    def save(self, row: Row, bundle: bytes | None) -> Row:
        """Write the bundle, then the row; a refused sensor has no bundle."""
        path = self.bundle(row["sensor"])
        if bundle is not None:
            write_atomically(path, bundle)
        else:
            path.unlink(missing_ok=True)
        whole = {name: row.get(name) for name in COLUMNS}
        text = json.dumps(whole, indent=1, ensure_ascii=False)
        write_atomically(self.folder / "sensors" / f"{row['sensor']}.json", text.encode())
        return whole

    def finish(self, rows: Sequence[Row], page: str) -> None:
        """Write the table and the page of all sensors, and leave no bundle that is in no row."""
        remove_leftovers([self.folder, self.folder / "sensors", self.folder / "bundles"])
        made = {self.bundle(row["sensor"]) for row in rows if row["bundle"]}
        for path in {*self.folder.glob("bundles/*.bundle")} - made:
            path.unlink()
        data = BytesIO()
        pq.write_table(pa.Table.from_pylist(list(rows), pa.schema(list(COLUMNS.items()))), data)
        write_atomically(self.folder / "results.parquet", data.getvalue())
        write_atomically(self.folder / "index.html", page.encode())

    def rows(self) -> list[Row]:
        """All rows, as the last whole run has left them."""
        path = self.folder / "results.parquet"
        try:
            rows: list[Row] = pq.read_table(path).to_pylist()
        except (OSError, pa.ArrowException) as error:
            words = f"got none; run model-export fleet MANIFEST --out {self.folder} first"
            raise RespireError(f"{path}: expected the results of model-export fleet, {words}") from error
        return rows


def digest_of(settings: Mapping[str, Any], files: Iterable[str]) -> str:
    """A digest of all that a row depends on."""
    return sha256(json.dumps([dict(settings), list(files)], sort_keys=True).encode()).hexdigest()[:16]


def digest_of_file(path: Path) -> str:
    """The first digits of a file's SHA-256; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            found = sha256()
            while block := file.read(1 << 20):
                found.update(block)
    except OSError:
        return ""
    return found.hexdigest()[:16]
