"""Fixes in a file: a line that is none is refused by its number."""

from pathlib import Path

import pytest

from edge_agent.cli import main
from edge_agent.core.errors import BadRecording
from edge_agent.core.positions import Fix
from edge_agent.replaying import read_fixes

SOUND = '{"at":"2024-02-01T10:15:30Z","lat":52.5,"lon":13.4,"speed_kmh":null}\n'


def test_lines_are_fixes(tmp_path: Path) -> None:
    file = tmp_path / "fixes.jsonl"
    file.write_text(SOUND * 2)
    assert read_fixes(file) == [Fix(1_706_782_530_000, 52.5, 13.4, None)] * 2


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            '{"lat": 99, "lon": 1}',
            "position: expected lat from -90 to 90, got 99; correct or remove the line",
        ),
        ('{"lat": 9, "lon": 1}', "expected at; correct or remove the line"),
        ("", "position: expected a number or a map of JSON or msgpack, got b''; correct or remove the line"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, text: str) -> None:
    file = tmp_path / "fixes.jsonl"
    file.write_text(f"{SOUND}{line}\n")
    with pytest.raises(BadRecording) as caught:
        read_fixes(file)
    assert str(caught.value) == f"{file}:2: {text}"


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match="No such file or directory; expected a file of fixes"):
        read_fixes(tmp_path / "none")


def test_fixes_need_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is read, so that no bundle is needed to hear it."""
    with pytest.raises(SystemExit):
        main(["replay", "--bundles", str(tmp_path), "--sensor", "5A2D", "--fixes", "x", "5A2D.csv"])
    assert "--fixes: expected --config, which has the sites" in capsys.readouterr().err
