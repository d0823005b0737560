"""One sentence for each command, for a terminal."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model_export.calibration.export import Exported
from model_export.doctor.diagnose import Diagnosis


def fitted(figures: Mapping[str, Any], test_share: float, report: Path | None, verdict: str) -> str:
    """What `fit` reached, what it wrote, and whether to use it."""
    where = f"on the last {test_share:.0%}" if figures["n_test"] else "(no test part)"
    page = f"; write-up in {report}" if report else ""
    return (
        f"{_agreement(figures['r2_test'], figures['coverage'], figures['level'], where)}, "
        f"{_count(figures['support'], 'support vector')}, {figures['bytes']} bytes in {figures['bundle']}"
        f"{page}. {verdict}"
    )


def evaluated(figures: Mapping[str, Any]) -> str:
    """How well a bundle agrees with a reference."""
    where = f"over {figures['n']} windows"
    agreement = _agreement(figures["r2"], figures["coverage"], figures["level"], where)
    return f"{agreement}, RMSE {figures['rmse']:.3g} {figures['unit']}, bias {figures['bias']:+.3g}."


def adapted(figures: Mapping[str, Any], written: Exported, verdict: str) -> str:
    """What a gain and an offset changed."""
    before, after, interval = figures["before"], figures["after"], written.model.interval
    where = f"on the last {_count(figures['n_test'], 'window')}"
    reached = _agreement(after["r2"], after["coverage"], interval.level if interval else None, where)
    return (
        f"{reached} (before: R² {before['r2']:.2f}, covered {before['coverage']:.2f}), gain "
        f"{figures['gain']:.3g}, offset {figures['offset']:+.3g} {figures['unit']}, "
        f"{written.size_bytes} bytes in {written.path}. {verdict}"
    )


def transferred(figures: Mapping[str, Any], written: Exported, verdict: str) -> str:
    """How well the channels map."""
    maps = ", ".join(f"{channel} {r2:.2f}" for channel, r2 in figures["r2"].items())
    return (
        f"{figures['source']} to {figures['sensor']} over {_count(figures['n'], 'window')}, R² of the "
        f"channels: {maps}; {written.size_bytes} bytes in {written.path}. {verdict}"
    )


def diagnosed(found: Diagnosis) -> str:
    """Whether the recordings can be used; the findings themselves are on stderr."""
    grave = sum(finding.severity == "error" for finding in found.findings)
    if grave:
        return f"Not fit for a calibration: {_count(grave, 'grave finding')}."
    warned = sum(finding.severity == "warning" for finding in found.findings)
    return f"Fit for a calibration, with {_count(warned, 'warning')}." if warned else "No fault found."


def _agreement(r2: float, coverage: float, level: float | None, where: str) -> str:
    interval = f", {level:.0%} interval covers {coverage:.2f}" if level is not None else ""
    return f"R² {r2:.2f} {where}{interval}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
