"""Windows from estimates that were published: every estimate carries its inputs and its minutes."""

from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from model_export.archive.estimates import CLOCK, STUCK
from model_export.archive.rows import END, MINUTES, REASONS, UNIT, Rows
from model_export.archive.windows import Channel, Mask, Windows


def newest(rows: Rows) -> Rows:
    """The estimate of highest revision of each window."""
    order = np.lexsort((revisions(rows.table), rows.at_ms))
    starts = rows.at_ms[order]
    kept = order[np.append(starts[1:] != starts[:-1], True)] if len(order) else order
    return Rows(
        rows.at_ms[kept],
        {name: values[kept] for name, values in rows.channels.items()},
        {name: values[kept] for name, values in rows.minutes.items()},
        rows.table.take(pa.array(kept)),
    )


def windows_again(rows: Rows, model: Model, length_ms: int) -> tuple[Windows, Mask]:
    """The windows behind estimates, and which had a clock that was not set.

    Whether a value was stuck cannot be seen in a mean; it is taken from the old estimate's reasons.
    """
    require_unit(rows.table, model)
    require_length(rows, length_ms)
    stuck = _has_reason(rows.table, STUCK)
    channels = {
        name: Channel(values, _counts(rows.minutes.get(name), values), stuck)
        for name, values in rows.channels.items()
    }
    return Windows(length_ms, rows.at_ms, channels), _has_reason(rows.table, CLOCK)


def require_unit(table: Any, model: Model) -> None:
    """Refuse estimates in more than one unit, or in another than the model's."""
    if UNIT not in table.column_names:
        return
    units = {unit for unit in table[UNIT].unique().to_pylist() if unit}
    if units - {model.unit}:
        found = " and ".join(sorted(units))
        raise BadRecording(f"expected estimates in {model.unit} as the bundle's, got {found}; convert them")


def require_length(rows: Rows, length_ms: int) -> None:
    """Refuse windows of another length than the model's."""
    if END not in rows.table.column_names:
        return
    end_ms = rows.table[END].to_numpy()
    if found := {*(end_ms - rows.at_ms)[end_ms >= 0].tolist()} - {length_ms}:
        minutes = min(found) // 60_000
        raise BadRecording(f"expected windows of {length_ms // 60_000} minutes, got {minutes}")


def revisions(table: Any) -> Array:
    """The revision of each estimate, 0 where there is none."""
    if "revision" not in table.column_names:
        return np.zeros(table.num_rows)
    return np.asarray(np.nan_to_num(np.asarray(table["revision"].to_numpy(), dtype=float)))


def _counts(minutes: Array | None, values: Array) -> Any:
    if minutes is None:
        raise BadRecording(f"expected {MINUTES} beside the inputs of every estimate, got none")
    return np.nan_to_num(minutes).astype(np.int64) * ~np.isnan(values)


def _has_reason(table: Any, reason: str) -> Mask:
    """Which estimates have a reason in their list."""
    column = table[REASONS].combine_chunks()
    found = np.zeros(table.num_rows, dtype=bool)
    flat = pc.equal(pc.list_flatten(column).cast(pa.string()), reason).fill_null(False)
    found[pc.list_parent_indices(column).to_numpy()[flat.to_numpy(zero_copy_only=False)]] = True
    return found
