"""The doctor beside `fit`, `adapt` and `transfer`: its findings before the work, its verdict after it."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from edge_agent.core.errors import BadRecording
from model_export.calibration.fit import Source
from model_export.doctor import words
from model_export.doctor.diagnose import ALONE, findings_of
from model_export.doctor.finding import Finding
from model_export.doctor.prepare import case_of, case_without_reference
from model_export.recordings.names import dataset_of
from model_export.recordings.recording import CELL, Recording


def examined(
    recording: Recording,
    source: Source,
    *,
    strict: bool = False,
    sensor_type: str = CELL,
) -> list[Finding]:
    """The findings of one sensor's recording; `strict` refuses grave ones."""
    case = case_of(recording, dataset_of(recording), source.reference, source.window_ms, sensor_type)
    return _accepted(findings_of([case]), recording.name, strict)


def examined_alone(recording: Recording, source: Source, *, strict: bool = False) -> list[Finding]:
    """The same without a reference: only what the sensor's own columns show."""
    case = case_without_reference(recording, dataset_of(recording), source.window_ms)
    return _accepted(findings_of([case], ALONE), recording.name, strict)


def judged(findings: Sequence[Finding]) -> dict[str, Any]:
    """The verdict and the findings, as data."""
    return {"verdict": words.verdict(findings), "findings": [asdict(finding) for finding in findings]}


def warnings(findings: Sequence[Finding]) -> tuple[str, ...]:
    """The lines for stderr: grave findings with advice, one line for a warning; the rest is in the data."""
    grave = words.told(finding for finding in findings if finding.severity == "error")
    others = (f"warning: {one.code}: {one.summary}" for one in findings if one.severity == "warning")
    return (*grave, *others)


def _accepted(findings: list[Finding], name: str, strict: bool) -> list[Finding]:
    grave = [finding for finding in findings if finding.severity == "error"]
    if strict and grave:
        faults = "; ".join(f"{finding.summary}. {finding.advice}" for finding in grave)
        raise BadRecording(f"{name}: --strict: expected a recording without grave faults, got: {faults}")
    return findings
