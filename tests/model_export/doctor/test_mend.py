"""What the doctor advises can be done by the tool: the corrected recording is sound and keeps every value."""

from pathlib import Path

import numpy as np

from model_export.doctor import mend
from model_export.doctor.diagnose import findings_of
from model_export.doctor.prepare import case_of
from model_export.recordings.mending import mended
from model_export.recordings.tables import read
from tests.model_export.doctor.test_sentinel import coded
from tests.support.colocations import colocation
from tests.support.faults import late, swapped


def test_the_mended_recording_is_sound_and_says_what_was_done(tmp_path: Path) -> None:
    spoilt = coded(swapped(late(colocation(), 60)), "op2", -9999.0)
    done = mend.write(spoilt, findings_of([case_of(spoilt, "T-W")]), tmp_path / "mended.csv")
    assert done is not None
    again = read([tmp_path / "mended.csv"], spoilt.sensor)
    assert [one for one in findings_of([case_of(again, "T-W")]) if one.severity == "error"] == []
    assert [option.split("=")[0] for option in done.options] == [
        "--drop-below op2",
        "--swap op1,op2",
        "--shift-reference 60min",
    ]
    note = done.note.read_text()
    assert all(line in note for line in done.done)
    assert " ".join(done.options) in note


def test_the_options_do_the_same_as_the_file(tmp_path: Path) -> None:
    spoilt = swapped(late(colocation(days=4.0), 60))
    findings = findings_of([case_of(spoilt, "T-W")])
    assert mend.write(spoilt, findings, tmp_path / "mended.csv") is not None
    by_file = read([tmp_path / "mended.csv"], spoilt.sensor)
    by_options = mended(spoilt, mend.mending(findings))
    for column, series in by_options.series.items():
        assert np.array_equal(by_file.series[column].at_ms, series.at_ms)
        assert np.array_equal(by_file.series[column].values, series.values)


def test_nothing_is_written_where_nothing_is_wrong(tmp_path: Path) -> None:
    sound = colocation()
    assert mend.write(sound, findings_of([case_of(sound, "T-W")]), tmp_path / "mended.csv") is None
    assert [*tmp_path.iterdir()] == []
