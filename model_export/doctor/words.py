"""A diagnosis as text for the operator, and as plain data."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import groupby
from typing import Any

from model_export.doctor.case import Diagnosis
from model_export.doctor.finding import Finding, by_severity


def data(diagnosis: Diagnosis) -> dict[str, Any]:
    """The data for stdout: findings, the gravest first, and the recordings that were examined."""
    return {
        "findings": [asdict(finding) for finding in diagnosis.findings],
        "examined": [
            {
                "sensor": case.sensor,
                "dataset": case.dataset,
                "recording": case.recording.name,
                "windows": len(case.windows),
            }
            for case in diagnosis.cases
        ],
        "skipped": [{"recording": name, "reason": reason} for name, reason in diagnosis.skipped.items()],
    }


def lines(diagnosis: Diagnosis) -> tuple[str, ...]:
    """The text for stderr: each kind of finding once, where it was found, and what to do."""
    skipped = [f"not examined: {reason}" for reason in diagnosis.skipped.values()]
    sensors = len({case.sensor for case in diagnosis.cases})
    total = (
        f"{_count(len(diagnosis.findings), 'finding')} in {_count(len(diagnosis.cases), 'recording')} "
        f"of {_count(sensors, 'sensor')}"
    )
    return (*skipped, *told(diagnosis.findings), total)


def told(findings: Iterable[Finding]) -> Iterator[str]:
    """Each kind of finding once, where it was found, and what to do."""
    ordered = by_severity(sorted(findings, key=lambda finding: finding.code))
    for (severity, code, advice), found in groupby(ordered, lambda one: (one.severity, one.code, one.advice)):
        yield f"{severity}: {code}"
        yield from (f"  {_where(finding)}: {finding.summary}" for finding in found)
        yield f"  -> {advice}"


def verdict(findings: Iterable[Finding]) -> str:
    """One sentence about a new bundle: whether to use it, and why not.

    >>> verdict([])
    'No fault found.'
    >>> verdict([Finding("channels_swapped", "error", "5A2D", "T-W", {}, "op1 and op2 are swapped: …", "")])
    'Do not use this bundle: op1 and op2 are swapped.'
    """
    found = [*findings]
    if grave := [one.summary.partition(": ")[0] for one in found if one.severity == "error"]:
        return f"Do not use this bundle: {'; '.join(dict.fromkeys(grave))}."
    if others := [
        one.code.replace("_r2", "_R²").replace("_", " ") for one in found if one.severity == "warning"
    ]:
        return f"No grave fault found; warnings: {', '.join(dict.fromkeys(others))}."
    return "No fault found."


def _where(finding: Finding) -> str:
    """5A2D in T-W, or the sensor alone where no dataset is known.

    >>> _where(Finding("drift", "info", "5A2D", "T-W", {}, "", ""))
    '5A2D in T-W'
    """
    if finding.dataset in (None, finding.sensor):
        return finding.sensor
    return f"{finding.sensor} in {finding.dataset}"


def _count(number: int, noun: str) -> str:
    """
    >>> _count(1, "finding"), _count(2, "finding")
    ('1 finding', '2 findings')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
