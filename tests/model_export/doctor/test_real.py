"""The doctor on real recordings, where they are at hand; two of them have real faults."""

from pathlib import Path

import pytest

from model_export.doctor.diagnose import findings_of
from model_export.doctor.prepare import open_case
from tests.support.needs import real_recordings

GRAVE = {"reference_clock_offset", "channels_swapped", "stuck_channel", "clipped_channel"}


@pytest.mark.parametrize("path", real_recordings())
def test_the_two_real_faults_are_named_and_none_beside(path: Path) -> None:
    """As delivered the clock is 60 minutes off and the electrodes are swapped; elsewhere neither is."""
    case = open_case(path)
    found = {finding.code: finding for finding in findings_of([case]) if finding.code in GRAVE}
    if "as-delivered" not in path.name:
        assert found == {}
        return
    assert found.keys() == {"reference_clock_offset", "channels_swapped"}
    assert abs(found["reference_clock_offset"].evidence["minutes"] - 60) <= 1
