"""The folders of `fleet`: those that cannot be used are refused before the work."""

from pathlib import Path

import pytest

from edge_agent.core.errors import BadSettings, RespireError
from model_export.files import alone_in
from tests.model_export.fleet.test_run import calibrated
from tests.support.recordings import saved, tidy


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    saved(tidy(60), tmp_path / "5A2D_T-W.csv")
    return tmp_path


def test_bundles_of_others_are_not_removed(recordings: Path) -> None:
    """`--out .` beside a folder bundles/ that is in use."""
    other = recordings / "bundles" / "1FEA.bundle"
    other.parent.mkdir()
    other.write_bytes(b"in use")
    for resume in (False, True):
        with pytest.raises(BadSettings, match="got bundles/ that is of no run; name another --out"):
            calibrated(recordings, recordings, resume=resume)
    assert other.read_bytes() == b"in use"


def test_a_run_is_not_compared_with_itself(recordings: Path) -> None:
    """The bundles in use would be replaced while others are compared with them."""
    own = recordings / "bundles" / ".." / "out" / "bundles"
    with pytest.raises(BadSettings, match=r"--current: expected another folder than .*bundles of --out"):
        calibrated(recordings, recordings / "out", current=own)


def test_an_out_that_is_no_folder_is_refused_before_the_work(recordings: Path) -> None:
    with pytest.raises(RespireError, match=r"5A2D_T-W.csv: cannot be written: .* is not a folder; choose"):
        calibrated(recordings, recordings / "5A2D_T-W.csv")


def test_a_folder_that_another_run_writes_to_is_refused(recordings: Path) -> None:
    out = recordings / "out"
    with alone_in(out), pytest.raises(RespireError, match="another run writes here; wait for its end"):
        calibrated(recordings, out)
