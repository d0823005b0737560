"""Bundles on disk: complete or absent, with the trainer's estimates."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edge_agent.core.errors import BadBundle
from model_export.calibration.export import read, write
from tests.support.models import drawn, linear


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """The returned model is the decoded file, with its id; nothing else is left in the folder."""
    path = tmp_path / "5A2D.bundle"
    exported = write(linear(), path, drawn(50))
    assert ([path], exported.size_bytes) == (list(tmp_path.iterdir()), path.stat().st_size)
    again = read(path)
    assert exported.model.id == again.id != ""
    dataset = drawn(50)
    np.testing.assert_array_equal(
        again.predict(dataset.inputs, dataset.auxiliary), linear().predict(dataset.inputs, dataset.auxiliary)
    )


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    """A bundle has no date and nothing random, so that two exports can be compared."""
    write(linear(), tmp_path / "a", drawn(50))
    write(linear(), tmp_path / "b", drawn(50))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_bundle_that_differs_from_the_trainer_replaces_nothing(tmp_path: Path) -> None:
    """The old bundle stays, and no other file."""
    path = tmp_path / "5A2D.bundle"
    write(linear(), path, drawn(50))
    before = path.read_bytes()
    with pytest.raises(BadBundle) as caught:
        write(replace(linear(), sensor="new"), path, drawn(50), estimate=drawn(50).target + 0.01)
    assert str(caught.value) == (
        "5A2D.bundle: expected the trainer's estimates within 5e-05 ppm, got 0.01 away; nothing was replaced"
    )
    assert ([path], before) == (list(tmp_path.iterdir()), path.read_bytes())


def test_a_model_that_is_not_finite_replaces_nothing(tmp_path: Path) -> None:
    """NaN equals nothing."""
    broken = replace(linear(), adapter=(float("nan"), 0.0))
    with pytest.raises(BadBundle):
        write(broken, tmp_path / "5A2D.bundle", drawn(50))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_bundle_is_named(tmp_path: Path) -> None:
    """One line, with the path."""
    with pytest.raises(BadBundle) as caught:
        read(tmp_path / "5A2D.bundle")
    assert str(caught.value) == (
        f"{tmp_path / '5A2D.bundle'}: expected a bundle, got no such file; check the path"
    )
    with pytest.raises(BadBundle) as caught:
        read(tmp_path)
    assert str(caught.value) == f"{tmp_path}: could not be read: Is a directory"
