"""What the tests of the experiment share."""

from pathlib import Path

import pytest

from tests.support.recordings import colocated


@pytest.fixture(scope="module")
def colocation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return colocated(tmp_path_factory.mktemp("colocation"))
