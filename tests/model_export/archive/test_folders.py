"""The folders of `recalibrate`: those that cannot be used are refused before the work."""

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from edge_agent.core.errors import BadBundle, BadSettings, RespireError
from model_export.files import alone_in
from tests.model_export.archive.test_published import as_published
from tests.model_export.archive.test_run import FEBRUARY, recalibrated, save_months
from tests.support.archives import save_bundles


def test_an_archive_is_not_its_own_output(tmp_path: Path) -> None:
    """Each run would recalibrate the estimates of the one before."""
    save_months(tmp_path / "in")
    bundles = save_bundles(tmp_path / "bundles", "5A2D")
    recalibrated(tmp_path / "in", bundles, tmp_path / "out")
    with pytest.raises(BadSettings, match="--out: expected another folder than the archive's"):
        recalibrated(tmp_path / "out", bundles, tmp_path / "in" / ".." / "out")


def test_an_out_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    save_months(tmp_path / "in")
    bundles = save_bundles(tmp_path / "bundles", "5A2D")
    with pytest.raises(RespireError, match=r"5A2D.bundle: cannot be written: .* is not a folder"):
        recalibrated(tmp_path / "in", bundles, bundles / "5A2D.bundle")
    with alone_in(tmp_path / "out"), pytest.raises(RespireError, match="another run writes here"):
        recalibrated(tmp_path / "in", bundles, tmp_path / "out")


def test_only_the_leftovers_of_killed_writers_are_removed(tmp_path: Path) -> None:
    """`--out` may be a folder that others use too."""
    save_months(tmp_path / "in")
    out = tmp_path / "out"
    others = [out / ".download.part", out / "mail" / ".letter.7.part", out / FEBRUARY / ".notes.part"]
    ours = out / FEBRUARY / ".9f3c01ab23cd4567.parquet.4711.part"
    for path in (*others, ours):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    recalibrated(tmp_path / "in", save_bundles(tmp_path / "bundles", "5A2D"), out)
    assert ([path.exists() for path in others], ours.exists()) == ([True] * 3, False)


def test_a_folder_without_bundles_is_one_line(tmp_path: Path) -> None:
    """Such as the folder of a run of `fleet`, whose bundles are in bundles/."""
    save_months(tmp_path / "in")
    (tmp_path / "fleet").mkdir()
    with pytest.raises(BadBundle, match=r"fleet: expected .bundle files, got none; name the folder"):
        recalibrated(tmp_path / "in", tmp_path / "fleet", tmp_path / "out")


def test_a_part_that_has_lost_the_window_of_highest_revision_is_done_once(tmp_path: Path) -> None:
    """The newest file is the one that none has replaced, whatever the revisions in it are."""
    path, table = as_published(tmp_path)
    place = table.column_names.index("revision")
    revised = pa.array([0] * (len(table) - 1) + [5])
    pq.write_table(table.set_column(place, "revision", revised), path)
    bundles, out = save_bundles(tmp_path / "new", "5A2D", seed=3), tmp_path / "out"
    recalibrated(tmp_path / "in", bundles, out)
    pq.write_table(table.slice(0, len(table) - 1), path)
    recalibrated(tmp_path / "in", bundles, out)
    files = {each.name: each.read_bytes() for each in (out / FEBRUARY).iterdir()}
    recalibrated(tmp_path / "in", bundles, out)
    assert {each.name: each.read_bytes() for each in (out / FEBRUARY).iterdir()} == files
