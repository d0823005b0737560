"""The library on tables and recordings as people have them: estimates, or one line that says why not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edge_agent.core.errors import BadRecording
from model_export import library
from model_export.bundle import Bundle
from model_export.calibration.fit import Recipe
from model_export.recordings.names import dataset_of
from model_export.recordings.recording import Recording, Series
from tests.support.models import linear
from tests.support.recordings import saved, tidy

TIMES = pd.date_range("2024-02-01T10:00:00Z", periods=60, freq="1min")
TABLE = pd.DataFrame(
    {
        "timestamp": TIMES.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "op1": 231.0 + np.arange(60) % 7,
        "op2": 206.0,
        "temperature": 24.5,
    }
)
CHANNELS = {
    name: Series(TIMES.as_unit("ms").asi8, TABLE[name].to_numpy()) for name in ("op1", "op2", "temperature")
}
ALONE = Recording("a.csv", "5A2D", ("op1", "op2"), CHANNELS, {}, ())


def test_a_row_for_each_channel_gives_the_same_estimates() -> None:
    """Rows of one time may have one column each, as in a table of messages."""
    bundle = Bundle(linear())
    whole = bundle.predict(TABLE)
    rows = pd.concat([TABLE[["timestamp", name]] for name in CHANNELS]).sort_values("timestamp")
    assert whole["value"].notna().all()
    pd.testing.assert_frame_equal(whole, bundle.predict(rows))


@pytest.mark.parametrize("other_first", [True, False])
@pytest.mark.parametrize("seconds", [0, 30])
def test_the_rows_of_other_sensors_are_left_out(other_first: bool, seconds: int) -> None:
    """A table of a city has a column sensor; values of two sensors are never averaged."""
    bundle = Bundle(linear())
    later = (TIMES + pd.Timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    other = TABLE.assign(timestamp=later, op1=999.0, sensor="5CB6")
    own = TABLE.assign(sensor=pd.Categorical(["5A2D"] * 60))
    both = pd.concat([other, own] if other_first else [own, other])
    pd.testing.assert_frame_equal(bundle.predict(TABLE), bundle.predict(both))
    with pytest.raises(BadRecording) as caught:
        bundle.predict(other)
    assert str(caught.value) == (
        "predict: expected rows of sensor 5A2D as the bundle's, got 5CB6; "
        "leave out the column sensor to use them all the same"
    )


def test_a_fit_that_is_not_saved_names_no_file(tmp_path: Path) -> None:
    """The page of the fit shows these figures, too."""
    recording = library.load_recording(saved(tidy(80), tmp_path / "5A2D_T-W.csv"))
    assert "bundle" not in library.fit(recording, recipe=Recipe(warming={}, size=2)).figures


def test_a_table_without_a_readable_time_is_refused() -> None:
    with pytest.raises(BadRecording) as caught:
        Bundle(linear()).predict(TABLE.assign(timestamp="soon"))
    assert str(caught.value) == "predict: expected times as ISO 8601 or epoch, got 'soon'"


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (lambda: library.fit(ALONE), "reference"),
        (lambda: library.evaluate(Bundle(linear()), ALONE), "reference"),
        (lambda: library.evaluate(Bundle(linear()), ALONE, unit="ppb"), "reference"),
        (lambda: library.adapt(Bundle(linear()), ALONE), "reference"),
        (lambda: library.diagnose(ALONE), "reference"),
        (lambda: Bundle(linear()).predict(_without("op2")), "op2"),
        (lambda: library.transfer(Bundle(linear()), ALONE, _without("op2")), "op2"),
    ],
)
def test_a_recording_without_a_column_is_refused(call: Callable[[], object], missing: str) -> None:
    """A reference is read only if there is one, so a recording may have none."""
    with pytest.raises(BadRecording, match=f"^a.csv: expected a column {missing}, got op1, "):
        call()


def test_a_unit_in_the_header_is_converted_to_that_of_the_bundle(tmp_path: Path) -> None:
    """An adapter with a gain of 1000 would publish ppb as ppm."""
    plain, billions = tidy(200), tidy(200)
    billions["reference [ppb]"] = billions.pop("reference") * 1000.0
    one, other = (
        library.load_recording(saved(table, tmp_path / name))
        for table, name in ((plain, "plain.csv"), (billions, "ppb.csv"))
    )
    bundle = Bundle(linear(half_width=0.1))
    line = "ppb.csv: the reference was converted from ppb to ppm (times 0.001)"
    found, expected = (library.evaluate(bundle, each) for each in (other, one))
    assert line in found.notes
    assert found.score.rmse == pytest.approx(expected.score.rmse)
    moved, right = (library.adapt(bundle, each) for each in (other, one))
    assert line in moved.notes
    assert moved.bundle.model.adapter == pytest.approx(right.bundle.model.adapter)
    with pytest.raises(BadRecording, match="expected ppm, got ppb in its header"):
        library.evaluate(bundle, other, unit="ppm")


def test_a_reference_that_is_no_outdoor_air_is_in_the_verdict(tmp_path: Path) -> None:
    """Such as one in ppb without a word about it, or a channel in its place."""
    table = tidy(80)
    recording = library.load_recording(
        saved(table.assign(reference=table["reference"] * 1000.0), tmp_path / "a.csv")
    )
    done = library.fit(recording, recipe=Recipe(warming={}, size=2))
    assert "reference unit" in done.verdict
    (found,) = (one for one in done.findings if one.code == "reference_unit")
    assert found.severity == "warning"
    assert found.summary.endswith(" ppm is not outdoor CO (0.02 to 50 ppm); --unit ppb would be")


def test_the_table_of_windows_gives_the_figures_of_the_score(tmp_path: Path) -> None:
    """A window with an input outside training has no interval, as in the agent."""
    recording = library.load_recording(saved(tidy(200), tmp_path / "5A2D_T-W.csv"))
    coldest = float(np.median(recording.series["temperature"].values))
    model = replace(linear(half_width=1.3), domain={"temperature": (coldest, 60.0)})
    done = library.evaluate(Bundle(model), recording)
    rows = done.windows.dropna(subset=["low", "high"])
    inside = (rows["low"] <= rows["reference"]) & (rows["reference"] <= rows["high"])
    assert 0.1 < done.score.promised < 0.9
    assert (rows["temperature"] >= coldest).all()
    assert (len(rows) / len(done.windows), inside.mean()) == (done.score.promised, done.score.coverage)


def test_the_page_of_an_evaluation_is_about_no_train_part(tmp_path: Path) -> None:
    """Nothing was fitted to these windows. The share that is covered has its level, and how many it is of."""
    recording = library.load_recording(saved(tidy(200), tmp_path / "5A2D_T-W.csv"))
    coldest = float(np.median(recording.series["temperature"].values))
    model = replace(linear(half_width=1.4), domain={"temperature": (coldest, 60.0)})
    done = library.evaluate(Bundle(model), recording)
    page = done.report(tmp_path / "page.html").read_text()
    assert f"<b>{done.score.coverage:.0%}</b><span>covered at 90%</span>" in page
    assert f"<b>{done.score.promised:.0%}</b><span>have an interval</span>" in page
    assert "<td>level</td><td>0.9</td>" in page
    assert "The shaded part is the test" not in page
    assert "Crosses are" not in page


def test_a_recording_of_another_sensor_is_told(tmp_path: Path) -> None:
    """Two arguments in the wrong order make a bundle with a map that is the wrong way round."""
    own, other = (
        library.load_recording(saved(tidy(60, seed=seed), tmp_path / name))
        for seed, name in enumerate(("5A2D_T-W.csv", "5CB6_T-W.csv"))
    )
    plain = library.load_recording(saved(tidy(60), tmp_path / "may.csv"))
    bundle = Bundle(linear())
    line = "5CB6_T-W.csv: its sensor is 5CB6, but the bundle is for 5A2D; check the files"
    told = {
        (one.name, name): line in done.notes
        for one in (own, other, plain)
        for name, done in (
            ("evaluate", library.evaluate(bundle, one)),
            ("adapt", library.adapt(bundle, one)),
            ("transfer", library.transfer(bundle, one, other)),
        )
    }
    assert told == {key: key[0] == "5CB6_T-W.csv" for key in told}


def test_a_name_with_an_and_is_that_of_one_file(tmp_path: Path) -> None:
    """Only several files have a name such as may.csv and 1 more."""
    recording = library.load_recording(saved(tidy(60), tmp_path / "may and june.csv"))
    assert dataset_of(recording) == recording.sensor == "may and june"
    assert not any("sensor" in note for note in library.evaluate(Bundle(linear()), recording).notes)


@pytest.mark.parametrize("window", [900, 420_000, 90_000_000])
def test_a_window_in_another_unit_than_milliseconds_is_refused(tmp_path: Path, window: int) -> None:
    """Seven minutes, too: days would begin within a window."""
    recording = library.load_recording(saved(tidy(60), tmp_path / "5A2D_T-W.csv"))
    with pytest.raises(BadRecording) as caught:
        library.fit(recording, window=window)
    words = f"window: expected 5min to 24h, so that a day has whole windows, got {window} ms"
    assert str(caught.value) == words


def _without(name: str) -> Recording:
    series = {each: values for each, values in CHANNELS.items() if each != name}
    return replace(ALONE, channels=("op1",), series=series)
