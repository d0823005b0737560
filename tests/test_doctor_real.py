"""The doctor on real recordings, where they are at hand; two of them have real faults."""

import os
from pathlib import Path

import pytest

from model_export.doctor.case import open_case
from model_export.doctor.diagnose import examine

FOLDER = Path(os.environ.get("RESPIRE_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
FILES = sorted(FOLDER.glob("*.csv.gz"))
GRAVE = {"reference_clock_offset", "channels_swapped", "stuck_channel", "clipped_channel"}

pytestmark = pytest.mark.skipif(
    not FILES, reason=f"no recordings in {FOLDER}; RESPIRE_DATA names another folder"
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_the_two_real_faults_are_named_and_none_beside(path: Path) -> None:
    """As delivered the clock is 60 minutes off and the electrodes are swapped; elsewhere neither is."""
    case = open_case(path)
    found = {finding.code: finding for finding in examine(case) if finding.code in GRAVE}
    if "as-delivered" not in path.name:
        assert found == {}
        return
    assert found.keys() == {"reference_clock_offset", "channels_swapped"}
    assert abs(found["reference_clock_offset"].evidence["minutes"] - 60) <= 1
