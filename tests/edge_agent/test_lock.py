"""The lock of a state directory: one holder, who lets go however it ends."""

import os
import resource
from pathlib import Path

import pytest

from edge_agent.core.errors import BadSettings
from edge_agent.lock import only_agent


def test_a_state_has_one_agent_at_a_time(tmp_path: Path) -> None:
    state = tmp_path / "new" / "state"
    with only_agent(state):
        words = f"expected no other agent here, got process {os.getpid()}; stop it"
        with pytest.raises(BadSettings, match=words), only_agent(state):
            pass
    with only_agent(state):
        assert (state / "lock").read_text() == f"{os.getpid()}\n"


def test_an_agent_that_failed_holds_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), only_agent(tmp_path):
        raise ZeroDivisionError
    with only_agent(tmp_path):
        pass


def test_a_full_disk_keeps_nobody_out(tmp_path: Path) -> None:
    """The number in the file is for people; the lock needs no room."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with only_agent(tmp_path):
            assert (tmp_path / "lock").read_bytes() == b""
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_place_that_is_no_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(BadSettings, match="expected a state directory that can"),
        only_agent(tmp_path / "file"),
    ):
        pass
