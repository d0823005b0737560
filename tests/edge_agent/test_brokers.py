"""Brokers of the settings: where a password comes from."""

from pathlib import Path

import pytest

from edge_agent.brokers import needs_systemd
from edge_agent.settings import Broker
from tests.support.users import needs_root, nobody


@needs_root
def test_a_credential_is_left_to_systemd_also_in_a_directory_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sudo -u anna edge-agent check`, typed in a folder that only root may read."""
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    (tmp_path / "private").mkdir(mode=0o700)
    monkeypatch.chdir(tmp_path / "private")
    with nobody():
        assert needs_systemd(Broker(username="van-1", password_file=Path("broker-password")))
