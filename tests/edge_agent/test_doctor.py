"""`edge-agent doctor`: an opinion for each sensor from the journal, with evidence and advice."""

import json
import tracemalloc
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from edge_agent.archive import Archive
from edge_agent.cli import main
from edge_agent.core.suspicions import FACT
from edge_agent.doctor import _from_estimates, _words, opinion
from edge_agent.settings import Settings
from tests.edge_agent.test_examining import SENSORS, Gateway, day_of


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "agent.toml"
    state = json.dumps(str(tmp_path))
    file.write_text(f"state = {state}\n[windows]\nlength_s = 3600\n[consensus]\n")
    return file


@pytest.fixture
def gateway(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Gateway:
    """Six days in which A is wrong."""
    gateway = Gateway(tmp_path)
    for day in range(6):
        gateway.live(day, wrong=0.3)
    capsys.readouterr()  # log events
    return gateway


def test_it_names_the_wrong_sensor_while_the_agent_runs(
    config: Path, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--config", str(config)]) == 0
    found = {each["sensor"]: each for each in json.loads(capsys.readouterr().out)}
    assert {sensor: each["opinion"] for sensor, each in found.items()} == {
        "A": "disagrees", "B": "learning", "C": "learning", "D": "learning",
    }  # fmt: skip
    assert found["A"]["suspicions"] == {"disagrees": "2024-02-03"}
    assert found["A"]["evidence"]["difference"] == pytest.approx(0.3, abs=0.02)
    gateway.journal.close()


def test_without_an_examination_it_makes_one_of_the_estimates(
    config: Path, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = gateway.facts()
    for sensor in SENSORS:
        gateway._commits.add_fact(FACT + sensor, "")
    gateway._commits.commit(0)
    gateway.journal.close()
    capsys.readouterr()
    assert main(["doctor", "--config", str(config), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == "doctor: no examination by the agent; this one uses the days in the journal\n"
    [a, *_] = json.loads(out)
    assert a["opinion"] == "disagrees"
    assert a["evidence"]["days"] == json.loads(stored[0] or "")["examined"] + 1, "also the day before today"


def test_what_the_agent_found_before_the_consensus_was_off_does_not_count(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor does the day that is not over."""
    gateway = Gateway(tmp_path)
    for day in range(6):
        gateway.live(day, wrong=0.3)
    sound = [each for day in range(100, 116) for each in day_of(day, 0.0)]
    gateway._commits.add_estimates(sound[: -5 * len(SENSORS)], {})
    gateway._commits.commit(0)
    gateway.journal.close()
    capsys.readouterr()
    config.write_text(config.read_text().replace("[consensus]\n", ""))
    assert main(["doctor", "--config", str(config), "--json"]) == 0
    [a, *_] = json.loads(capsys.readouterr().out)
    assert (a["opinion"], a["evidence"]["days"], a["evidence"]["last_day"]) == ("sound", 21, "2024-05-25")


def test_it_does_not_keep_the_estimates_of_all_sensors(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    for day in range(8):
        gateway._commits.add_estimates(list(day_of(day, 0.0)), {})
        gateway._commits.commit(0)
    gateway.journal.close()
    with closing(Archive(tmp_path)) as archive:
        tracemalloc.start()
        found = _from_estimates(archive, SENSORS, Settings.model_validate({"windows": {"length_s": 3600}}))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert {sensor: each.examined for sensor, each in found.items()} == dict.fromkeys(SENSORS, 8)
    assert peak < 700_000


def test_sensors_without_an_interval_are_not_compared_and_it_says_so(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway = Gateway(tmp_path)
    made = [replace(each, low=None, high=None, level=None) for each in day_of(0, 0.3)]
    gateway._commits.add_estimates(made, {})
    gateway._commits.commit(0)
    gateway.journal.close()
    assert main(["doctor", "--config", str(config), "--json"]) == 0
    why = "no sensor has an interval, so they cannot be compared; model-export adapt measures one"
    assert {(each["opinion"], each["why"]) for each in json.loads(capsys.readouterr().out)} == {
        ("unknown", why)
    }


def test_what_is_known_of_the_model_before_does_not_count(
    config: Path, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    renewed = [replace(each, model="sha256:77aa") for each in day_of(6, 0.0) if each.sensor == "A"]
    gateway._commits.add_estimates(renewed, {})
    gateway._commits.commit(0)
    gateway.journal.close()
    capsys.readouterr()
    assert main(["doctor", "--config", str(config), "--json"]) == 0
    assert [each["opinion"] for each in json.loads(capsys.readouterr().out)] == ["unknown", *["learning"] * 3]


def test_words_for_the_person_with_the_screwdriver() -> None:
    assert list(_words(opinion("5A2D", None))) == [
        "5A2D: unknown. Too few days beside another sensor with a model."
    ]
