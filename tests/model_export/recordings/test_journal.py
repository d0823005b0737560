"""A van's journal as a dataset: real tables, written by the agent's own journal."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edge_agent.change import Change
from edge_agent.core.messages import Estimate, Reading
from edge_agent.core.reference import REFERENCE
from edge_agent.journal import Journal
from model_export.calibration import export
from model_export.cli.main import main
from model_export.recordings.dataset import Dataset
from model_export.recordings.journal import load_journal
from tests.support.commands import examples, run
from tests.support.models import drawn, linear

GAIN, OFFSET = 1.2, 0.3
WINDOW_MS = 900_000


@pytest.fixture
def there() -> Dataset:
    """Sixty windows beside a reference of another scale."""
    return drawn(60, noise=0.01)


@pytest.fixture
def state(tmp_path: Path, there: Dataset) -> Path:
    """The state directory of an agent that was there; the bundle is beside it."""
    write(tmp_path, [estimate(there, place) for place in range(60)], references(there))
    export.write(linear(half_width=0.1), tmp_path / "5A2D.bundle", there)
    return tmp_path


def write(state: Path, estimates: list[Estimate], values: list[Reading]) -> None:
    with closing(Journal(state / "journal.db", WINDOW_MS)) as journal:
        journal.commit(Change(estimates=estimates, too_late=values), now_ms=0)


def estimate(there: Dataset, place: int, reasons: tuple[str, ...] = (), quality: int = 1) -> Estimate:
    inputs = {
        "op1": there.inputs[place, 0],
        "op2": there.inputs[place, 1],
        "temperature": there.auxiliary[place],
    }
    start_ms = int(there.start_ms[place])
    end_ms, minutes = start_ms + WINDOW_MS, {"expected": 15}
    return Estimate("5A2D", start_ms, end_ms, quality, reasons, inputs, minutes, value=0.0)


def references(there: Dataset, minutes: int = 3) -> list[Reading]:
    """Every five minutes; each value came twice, as after a kill, and the second is not used."""
    starts, values = there.start_ms.tolist(), (GAIN * there.target + OFFSET).tolist()
    once = [
        Reading(REFERENCE, "co", start_ms + minute * 300_000, value + minute - 1.0)
        for start_ms, value in zip(starts, values, strict=True)
        for minute in range(minutes)
    ]
    return [*once, *(each._replace(value=99.0) for each in once)]


def test_a_journal_is_the_dataset_that_the_van_has_seen(state: Path, there: Dataset) -> None:
    found = load_journal(state, linear())
    assert np.array_equal(found.start_ms, there.start_ms)
    assert found.inputs == pytest.approx(there.inputs, abs=1e-8)
    assert found.auxiliary == pytest.approx(there.auxiliary, abs=1e-8)
    assert found.target == pytest.approx(GAIN * there.target + OFFSET)


def test_adapt_makes_a_bundle_from_the_journal(
    state: Path, there: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fitted to the first 80 % of the windows; the interval is measured anew."""
    out = state / "here.bundle"
    line = [
        "adapt",
        str(state / "5A2D.bundle"),
        "--from-journal",
        str(state / "journal.db"),
        "--out",
        str(out),
    ]
    assert main(line) == 0
    figures = json.loads(capsys.readouterr().out)
    model = export.read(out)
    assert model.adapter == pytest.approx((GAIN, OFFSET), abs=0.02)
    assert (figures["n_train"], figures["n_test"], figures["after"]["r2"] > 0.99) == (48, 12, True)
    assert model.calibrated_ms == int(there.start_ms[47]) + WINDOW_MS
    assert model.provenance["adapted_on"] == "journal.db of 5A2D"


def test_the_example_runs(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unchanged, in a folder with such files."""
    monkeypatch.chdir(state)
    [line] = [each for each in examples() if "--from-journal" in each]
    printed, _ = run(line.removeprefix("model-export "), capsys)
    assert printed["sensor"] == "5A2D"


def test_windows_of_no_use_are_counted(tmp_path: Path, there: Dataset) -> None:
    """A sensor that was out, a doubtful clock, a loose electrode, a reference switched on in the window."""
    estimates = [estimate(there, place) for place in range(56)]
    outside = estimate(there, 56, ("op1_outside_training",), quality=3)
    failed = estimate(there, 57, ("op1_outside_training",), quality=4)
    doubted = estimate(there, 58, ("clock_unsynchronised",), quality=3)
    write(tmp_path, [*estimates, outside, failed, doubted], references(there)[1:180])
    found = load_journal(tmp_path, linear())
    reasons = {
        "too few values of the reference": 1,
        "an input is far outside the training data": 1,
        "clock_unsynchronised": 1,
        "no estimate": 1,
    }
    assert (len(found), dict(found.dropped_windows)) == (56, reasons)


def test_a_window_with_more_values_of_the_reference_does_not_make_the_others_too_few(
    tmp_path: Path, there: Dataset
) -> None:
    """An analyser that sends every 15 minutes was tried out with a value a minute."""
    sent = references(there, minutes=1)
    first = sent[0]
    more = [first._replace(at_ms=first.at_ms + minute * 60_000) for minute in range(1, 15)]
    write(tmp_path, [estimate(there, place) for place in range(60)], [*sent, *more])
    assert len(load_journal(tmp_path, linear())) == 60


def test_a_reference_in_another_unit_is_converted(state: Path, there: Dataset) -> None:
    found = load_journal(state, linear(), unit="ppb")
    assert found.target == pytest.approx((GAIN * there.target + OFFSET) / 1000)


def test_the_unit_and_the_conditions_are_those_of_the_agent(state: Path, there: Dataset) -> None:
    said = {"unit": "mg/m3", "temperature_c": 25.0, "pressure_hpa": 1013.25}
    with closing(Journal(state / "journal.db", WINDOW_MS)) as journal:
        journal.commit(Change(facts={"reference": json.dumps(said)}), now_ms=0)
    found = load_journal(state, linear())
    assert found.target == pytest.approx((GAIN * there.target + OFFSET) / 1.1449, rel=1e-4)
    assert load_journal(state, linear(), unit="ppm").target == pytest.approx(GAIN * there.target + OFFSET)


def test_windows_of_another_length_are_left_out(state: Path) -> None:
    found = load_journal(state, replace(linear(), window_ms=4 * WINDOW_MS))
    assert dict(found.dropped_windows) == {"the agent's windows have another length than the bundle's": 15}


def test_the_bundle_does_not_replace_the_journal(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = str(state / "journal.db")
    for given in (str(state), journal):
        line = ["adapt", str(state / "5A2D.bundle"), "--from-journal", given, "--out", journal]
        assert main(line) == 1
        assert "the bundle would overwrite the input" in capsys.readouterr().err
    assert len(load_journal(state, linear())) == 60


@pytest.mark.parametrize(
    "options",
    [("--strict",), ("--shift-reference", "60min"), ("--drop-above", "op1=1"), ("--columns", "op1=a")],
    ids=lambda each: each[0],
)
def test_options_that_a_journal_does_not_need_are_refused(
    state: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    line = [
        "adapt",
        str(state / "5A2D.bundle"),
        "--from-journal",
        str(state),
        "--out",
        str(state / "x.bundle"),
    ]
    assert main([*line, *options]) == 2
    expected = "expected --from-journal without --strict and without options for DATA"
    assert capsys.readouterr().err.strip().endswith(expected)


def test_a_unit_is_only_for_a_journal(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = [
        "adapt",
        str(state / "5A2D.bundle"),
        "march.csv",
        "--unit",
        "ppb",
        "--out",
        str(state / "x.bundle"),
    ]
    assert main(line) == 2
    assert capsys.readouterr().err.strip().endswith("expected --from-journal beside --unit")


@pytest.mark.parametrize(
    ("journal", "expected"),
    [
        ("nowhere.db", "nowhere.db: expected the journal of an agent, got no such file"),
        ("5A2D.bundle", "5A2D.bundle: expected the journal of an agent, got file is not a database"),
        ("empty", "journal.db: expected values of a reference for CO, got none; see [reference]"),
    ],
)
def test_what_is_no_such_journal_is_one_line(
    state: Path, journal: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (state / "empty").mkdir()
    write(state / "empty", [], [Reading("5A2D", "op1", 0, 1.0)])
    line = ["adapt", str(state / "5A2D.bundle"), "--from-journal", str(state / journal), "--out", "x"]
    assert main(line) == 1
    assert capsys.readouterr().err.strip().endswith(expected)
