"""One sensor of a fleet as a task: paths in, a row out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edge_agent.core.errors import BadBundle
from edge_agent.core.model import Model
from model_export.calibration import export
from model_export.doctor.finding import Finding
from model_export.fleet.ledger import Row, digest_of, digest_of_file
from model_export.recordings.manifest import Entry

NOT_COMPARED = "The new bundle was not compared with it. Check the bundles in use."


@dataclass(frozen=True, slots=True)
class Settings:
    """What the results depend on, beside the data."""

    trials: int = 60
    seed: int = 0
    test_share: float = 0.2


@dataclass(frozen=True, slots=True)
class Task:
    """One sensor: where its recordings are, its bundle in use, and where the result goes."""

    sensor: str
    entries: tuple[Entry, ...]
    current: Path | None
    out: Path
    settings: Settings

    def digest(self, *more: str) -> str:
        """A digest of the settings, the recordings and the bundle in use."""
        how = [repr(replace(entry, paths=())) for entry in self.entries]
        files = [digest_of_file(path) for entry in self.entries for path in entry.paths]
        now = digest_of_file(self.current) if self.current else ""
        return digest_of(asdict(self.settings), [_version(), *how, *files, now, *more])


def in_use(task: Task) -> tuple[Model | None, str]:
    """The bundle in use, if it is one of this sensor, and otherwise why the file is not used."""
    if task.current is None:
        return None, ""
    try:
        model = export.read(task.current)
    except BadBundle as error:
        return None, str(error)
    if model.sensor != task.sensor:
        return None, f"{task.current.name}: expected a bundle of {task.sensor}, got one of {model.sensor}"
    return model, ""


def refused(reason: str, advice: str, findings: Sequence[Finding] = ()) -> Row:
    """What a row says about a sensor without a new bundle."""
    codes = [finding.code for finding in findings]
    return {"state": "refused", "reason": reason, "advice": advice, "findings": codes}


def known(task: Task) -> dict[str, Any]:
    """What is known before the work."""
    paths = [path for entry in task.entries for path in entry.paths]
    return {
        "sensor": task.sensor,
        "dataset": ", ".join(entry.place.dataset for entry in task.entries),
        "version": _version(),
        "recordings": [{"path": str(path), "sha256": digest_of_file(path)} for path in paths],
    }


def _version() -> str:
    return f"respire-edge {version('respire-edge')}"
