"""One fault that a check has found."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: an error spoils a calibration, a warning limits it, info is good to know."""

    code: str
    severity: Severity
    sensor: str
    dataset: str | None  # None where several recordings were compared
    evidence: Mapping[str, Any]
    summary: str  # what was found
    advice: str  # what to do


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, then warnings, then info; otherwise in the order given."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
