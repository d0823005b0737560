"""Which recordings the doctor calls sound: those without an error or a warning.

An interrupted run is resumed.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from model_export.doctor.diagnose import findings_of
from model_export.doctor.prepare import open_case
from model_export.files import write_atomically

Found = dict[str, list[str]]  # recording -> codes of errors and warnings


def examined(recordings: Iterable[tuple[str, Path, int, str]], out: Path) -> Found:
    """The findings in whole recordings: name, file, length of windows in ms and type of sensor of each."""
    found: Found = json.loads(out.read_text()) if out.exists() else {}
    for name, path, window_ms, sensor_type in recordings:
        if name not in found:
            findings = findings_of([open_case(path, window_ms=window_ms, sensor_type=sensor_type)])
            found[name] = [f"{one.severity} {one.code}" for one in findings if one.severity != "info"]
            write_atomically(out, json.dumps(found, indent=1).encode())
    return found
