"""A recording prepared for the checks: its windows, its lag scan and the smooth law fitted to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model_export.doctor.finding import Finding, Severity
from model_export.doctor.lag import Scan
from model_export.doctor.smooth import Smooth
from model_export.recordings.dataset import Dataset
from model_export.recordings.recording import Recording


@dataclass(frozen=True, slots=True)
class Sentinel:
    """A value of one column that is no measurement, and a limit between it and the measurements."""

    column: str
    value: float
    count: int
    share: float
    limit: float
    nearest: float  # of the other values


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One sensor in one deployment; the windows are those after the reference's clock is corrected."""

    sensor: str
    dataset: str
    recording: Recording  # as it was read, without sentinels
    scan: Scan | None  # None where there is too little data to compare the clocks
    halves: tuple[Scan | None, Scan | None]  # the scans of the first and of the second half
    minutes: int  # added to the reference's stamps; 0 where no single number corrects them
    windows: Dataset
    dead: tuple[str, ...]  # the channels that are white noise
    law: Smooth | None  # None where there are too few windows, or where a column is constant
    sentinels: tuple[Sentinel, ...] = ()

    def finding(
        self, code: str, severity: Severity, evidence: Mapping[str, Any], summary: str, advice: str
    ) -> Finding:
        """A finding in this recording."""
        return Finding(code, severity, self.sensor, self.dataset, evidence, summary, advice)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings, the recordings that were examined, and the files that could not be read."""

    findings: tuple[Finding, ...]
    cases: tuple[Case, ...]
    skipped: dict[str, str]  # file -> reason
