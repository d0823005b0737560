"""`edge-agent export` from real journals: a spreadsheet's rows, means of minutes, readings that replay."""

import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edge_agent import cli, recording
from edge_agent.archive import Archive
from edge_agent.change import Change
from edge_agent.core.consensus_messages import ConsensusEstimate, consensus_of
from edge_agent.core.messages import LAST_MS, Estimate, Reading
from edge_agent.core.places import Position
from edge_agent.journal import FILE, Journal
from edge_agent.rows import Rows, Selection
from tests.support.processes import run_program, start
from tests.support.users import needs_root, nobody, public_directory

WINDOW_MS, START_MS = 900_000, 1_706_778_000_000  # 2024-02-01 09:00


AT_T: dict[str, Any] = {"position": Position(52.5163, 13.3777, 4.2, None, 90), "site": "T"}


def estimate(index: int, sensor: str = "5A2D", **changes: object) -> Estimate:
    start_ms = START_MS + index * WINDOW_MS
    made = Estimate(
        sensor=sensor,
        start_ms=start_ms,
        end_ms=start_ms + WINDOW_MS,
        quality=1,
        reasons=(),
        inputs={"op1": 231.4, "op2": 206.1, "temperature": 24.3, "warming_1h": 0.4},
        minutes={"op1": 15, "op2": 14, "temperature": 3, "expected": 15},
        value=0.5 + index,
        low=0.4 + index,
        high=0.6 + index,
        level=0.9,
        gas="CO",
        unit="ppm",
        weights={"op1": 0.0121, "op2": -0.01, "warming_1h": 0.1, "bias": 0.1},
        model="sha256:9f3c01ab23cd4567",
        agent="van-1",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def consensus(index: int, **changes: object) -> ConsensusEstimate:
    """Of two sensors that agree and one that is far from them."""
    values: dict[str, Any] = {"value": 9.5, "low": 9.4, "high": 9.6}
    others = [estimate(index, sensor) for sensor in ("=A", "B C")]
    made = consensus_of([*others, estimate(index, "D3EB", **values)])
    assert made
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """The journal of an agent that runs: it stays open."""
    with closing(Journal(tmp_path / FILE, WINDOW_MS)) as made:
        yield made


def export(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "EDGE_AGENT_STATE": str(directory)}
    command = [sys.executable, "-m", "edge_agent", "export", *options]
    return run_program(command, env=environment, capture_output=True, text=True)


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, str]]:
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_estimates_are_one_row_a_window_by_sensor_and_time(journal: Journal, tmp_path: Path) -> None:
    missing = estimate(
        1, value=None, low=None, high=None, quality=9, reasons=("a", "b"), weights=None, model=None
    )
    journal.commit(Change(estimates=[estimate(2, **AT_T), missing, estimate(0, "D3EB")]), now_ms=0)
    done = export(tmp_path)
    assert [(row["sensor"], row["start_utc"], row["value"]) for row in rows(done)] == [
        ("5A2D", "2024-02-01 09:15:00", ""),
        ("5A2D", "2024-02-01 09:30:00", "2.5"),
        ("D3EB", "2024-02-01 09:00:00", "0.5"),
    ]
    assert rows(done)[0]["reasons"] == "a b"
    assert rows(done)[1] == {
        "sensor": "5A2D",
        "start_utc": "2024-02-01 09:30:00",
        "end_utc": "2024-02-01 09:45:00",
        "value": "2.5",
        "low": "2.4",
        "high": "2.6",
        "level": "0.9",
        "unit": "ppm",
        "unit_at": "",
        "quality": "1",
        "reasons": "",
        "op1": "231.4",
        "op2": "206.1",
        "temperature": "24.3",
        "other_inputs": "warming_1h=0.4",
        "minutes": "14",
        "expected": "15",
        "site": "T",
        "lat": "52.5163",
        "lon": "13.3777",
        "spread_m": "4.2",
        "speed_kmh": "",
        "model": "sha256:9f3c01ab23cd4567",
        "clock": "synchronised",
        "agent": "van-1",
        "seq": "1",
        "revision": "0",
    }
    assert done.stderr.splitlines()[-1] == "export: 3 rows"


def test_numbers_that_stay_text_give_the_same_file(journal: Journal, tmp_path: Path) -> None:
    values = (1e-07, -0.25, 123456.789012345, 0.0, 1e15)
    made = [estimate(index, value=value, low=-value) for index, value in enumerate(values)]
    journal.commit(Change(estimates=made), now_ms=0)
    files = []
    with closing(Archive(tmp_path)) as archive:
        for as_text in (False, True):
            chosen = Rows(archive, Selection(["5A2D"], 0, LAST_MS), ("op1", "op2"), as_text)
            file = io.StringIO()
            csv.writer(file).writerows([*chosen.windows(), *chosen.estimates()])
            files.append(file.getvalue().replace("'", ""))
    assert files[0] == files[1]


def test_times_and_sensors_choose(journal: Journal, tmp_path: Path) -> None:
    """From is part of it, to is not; both may have an offset."""
    made = [estimate(index, sensor) for sensor in ("5A2D", "D3EB", "FFFF") for index in range(4)]
    journal.commit(Change(estimates=made), now_ms=0)
    times = ["--from", "2024-02-01T14:45+05:30", "--to", "2024-02-01 09:45"]
    done = export(tmp_path, "--sensor", "FFFF", "--sensor", "5A2D", *times)
    assert [(row["sensor"], row["start_utc"][11:]) for row in rows(done)] == [
        (sensor, start) for sensor in ("FFFF", "5A2D") for start in ("09:15:00", "09:30:00")
    ]


def test_jsonl_is_as_published(journal: Journal, tmp_path: Path) -> None:
    [outgoing] = journal.commit(Change(estimates=[estimate(0)]), now_ms=0)
    assert export(tmp_path, "--format", "jsonl").stdout == outgoing.payload.decode() + "\n"


def test_the_consensus_is_one_row_a_window(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who took part, with the shares, and who did not; as JSON the newest revision is as it was published."""
    monkeypatch.setenv("EDGE_AGENT_STATE", str(tmp_path))
    journal.commit(Change(estimates=[estimate(0)], derived=[consensus(0), consensus(1, **AT_T)]), now_ms=0)
    [revised] = journal.commit(Change(derived=[consensus(0, revision=1)]), now_ms=0)
    assert cli.main(["export", "--what", "consensus"]) == 0
    first, second = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert first == {
        "start_utc": "2024-02-01 09:00:00",
        "end_utc": "2024-02-01 09:15:00",
        "value": "0.5",
        "low": first["low"],
        "high": first["high"],
        "level": "0.9",
        "unit": "ppm",
        "unit_at": "",
        "quality": "3",
        "reasons": "few_sensors",
        "spread": "0.0",
        "sensors": "'=A=0.5 B C=0.5",
        "left_out": "D3EB=far_from_others",
        **dict.fromkeys(("site", "lat", "lon", "spread_m", "speed_kmh"), ""),
        "agent": "van-1",
        "seq": "3",
        "revision": "1",
    }
    assert float(first["low"]) < 0.5 < float(first["high"])
    assert (second["site"], second["lat"], second["seq"]) == ("T", "52.5163", "2")
    options = ["--format", "jsonl", "--to", "2024-02-01T09:15"]
    assert cli.main(["export", "--what", "consensus", *options]) == 0
    assert capsys.readouterr().out == revised.payload.decode() + "\n"


def test_a_time_span_that_ends_before_it_starts_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["export", "--from", "2024-02-08", "--to", "2024-02-01"])
    told = "--to: expected a later time than --from, which is 2024-02-08T00:00:00Z, got 2024-02-01T00:00:00Z"
    assert told in capsys.readouterr().err


def test_the_consensus_is_of_no_sensor(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["export", "--what", "consensus", "--sensor", "5A2D"])
    assert (
        "--sensor: expected it without --what consensus, which is of the whole van" in capsys.readouterr().err
    )


def test_windows_have_means_and_minutes_of_channels(journal: Journal, tmp_path: Path) -> None:
    journal.commit(Change(estimates=[estimate(0)]), now_ms=0)
    done = export(tmp_path, "--what", "windows", "--format", "jsonl")
    assert json.loads(done.stdout) == {
        "sensor": "5A2D",
        "start": "2024-02-01T09:00:00Z",
        "end": "2024-02-01T09:15:00Z",
        "op1": 231.4,
        "op2": 206.1,
        "temperature": 24.3,
        "op1_minutes": 15,
        "op2_minutes": 14,
        "temperature_minutes": 3,
        "expected": 15,
    }


def test_hourly_and_running_means(journal: Journal, tmp_path: Path) -> None:
    """Nine hours, of which the second has too few windows; the minutes of temperature do not count."""
    made = [estimate(index, value=1.0 + index // 4) for index in range(36) if index not in (4, 5)]
    journal.commit(Change(estimates=made), now_ms=0)
    hourly = rows(export(tmp_path, "--every", "1h"))
    assert [row["value"] for row in hourly] == ["1.0", "", *[f"{hour}.0" for hour in range(3, 10)]]
    assert (hourly[0]["minutes"], hourly[0]["expected"]) == ("56", "60")
    assert (hourly[1]["quality"], hourly[1]["reasons"]) == ("9", "insufficient_coverage")
    running = {row["start_utc"]: row for row in rows(export(tmp_path, "--every", "8h"))}
    values = [float(hour) for hour in range(1, 9) for _ in range(2 if hour == 2 else 4)]
    whole = running["2024-02-01 09:00:00"]
    assert float(whole["value"]) == pytest.approx(sum(values) / len(values))
    assert (whole["minutes"], whole["expected"]) == (str(14 * 30), "480")
    # --from and --to choose starts; the windows of the whole span count.
    alone = rows(export(tmp_path, "--every", "8h", "--from", "2024-02-01T10:00", "--to", "2024-02-01T11:00"))
    assert alone == [running["2024-02-01 10:00:00"]]


def test_readings_replay_to_the_same_readings(journal: Journal, tmp_path: Path) -> None:
    made = [
        Reading("5A2D", channel, START_MS + 1 + 20_000 * step, step + 0.25)
        for step in range(5)
        for channel in ("op1", "op2", "temperature")
    ]
    journal.commit(Change(readings=made[:7]), now_ms=0)
    journal.commit(Change(readings=[*made[7:], Reading("D3EB", "op1", START_MS, 7.0)]), now_ms=0)
    done = export(tmp_path, "--what", "readings", "--sensor", "5A2D")
    assert done.stdout.splitlines()[:2] == [
        "sensor,timestamp,op1,op2,temperature",
        "5A2D,2024-02-01 09:00:00.001,0.25,0.25,0.25",
    ]
    file = tmp_path / "5A2D.csv"
    file.write_text(done.stdout)
    assert list(recording.read(file, "5A2D", ("op1", "op2", "temperature"))) == made


def test_a_damaged_row_is_left_out_and_counted(journal: Journal, tmp_path: Path) -> None:
    readings = [Reading("5A2D", "op1", START_MS, 1.0)]
    journal.commit(Change(estimates=[estimate(0), estimate(1)], readings=readings), now_ms=0)
    with closing(sqlite3.connect(tmp_path / FILE)) as db, db:
        db.execute("UPDATE estimate SET payload = ? WHERE id = 1", (b'{"v":1,"sens',))
        db.execute("UPDATE batch SET readings = ?", (b"\xc1",))
    for what, count in (("estimates", 1), ("windows", 1), ("readings", 0)):
        done = export(tmp_path, "--what", what)
        assert (done.returncode, len(rows(done))) == (0, count)
        assert done.stderr.splitlines()[-1] == "export: 1 damaged rows of the journal are left out"


def test_a_spreadsheet_runs_no_sensor(journal: Journal, tmp_path: Path) -> None:
    journal.commit(Change(estimates=[estimate(0, "=1+1")]), now_ms=0)
    assert rows(export(tmp_path))[0]["sensor"] == "'=1+1"


HOLD = """
import sys
from pathlib import Path
from edge_agent.change import Change
from edge_agent.journal import Journal
from tests.edge_agent.test_export import estimate
journal = Journal(Path(sys.argv[1]), 900_000)
journal.commit(Change(estimates=[estimate(0)]), now_ms=0)
print("ready", flush=True)
sys.stdin.read()
journal.close()
"""


@needs_root
@pytest.mark.parametrize("running", [True, False])
def test_an_ordinary_user_reads_what_is_readable(
    running: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the agent is stopped and the user can create no file beside the journal."""
    with public_directory() as directory:
        command = [sys.executable, "-c", HOLD, directory / FILE]
        with start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout
            assert writer.stdout.readline() == "ready\n"
            if not running:
                writer.communicate()
            monkeypatch.setenv("EDGE_AGENT_STATE", str(directory))
            assert cli.main(["export"]) == 0  # imports everything
            capsys.readouterr()
            with nobody():
                assert cli.main(["export"]) == 0
            assert len(capsys.readouterr().out.splitlines()) == 2
            for place, mode in ((directory / FILE, 0o600), (directory, 0o700)):
                place.chmod(mode)
                with nobody():
                    assert cli.main(["export"]) == 1
                told = capsys.readouterr()
                assert (told.out, "ry sudo" in told.err) == ("", True)
            if running:
                writer.communicate()


def test_what_cannot_be_is_one_line(journal: Journal, tmp_path: Path) -> None:
    journal.commit(Change(estimates=[estimate(0)]), now_ms=0)
    unknown = export(tmp_path, "--sensor", "XXXX")
    words = f"edge-agent: {tmp_path / FILE}: expected estimates of XXXX, got 5A2D"
    assert (unknown.returncode, unknown.stderr.splitlines()[-1]) == (1, words)
    nothing = export(tmp_path / "no")
    assert nothing.returncode == 1
    assert "no such file; expected the journal of an agent that has run" in nothing.stderr
    for options, text in (
        (["--every", "1h", "--what", "windows"], "--every 1h: expected --what estimates, got windows"),
        (["--from", "soon"], "argument --from: expected a time as 2024-02-01T10:15, got 'soon'"),
    ):
        done = export(tmp_path, *options)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"edge-agent export: error: {text}")
