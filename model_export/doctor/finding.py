"""What the doctor has to say about a sensor."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found: an error spoils a calibration, a warning limits it, info is good to know."""

    code: str
    severity: Severity
    sensor: str
    dataset: str | None  # the recording it was found in; None where several were compared
    evidence: Mapping[str, Any]
    summary: str  # what was seen, in words
    advice: str  # what to do about it, in words


def by_severity(findings: list[Finding]) -> list[Finding]:
    """The gravest first, otherwise in the order given."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
