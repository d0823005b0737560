"""The picture of a diagnosis shows its gravest finding."""

from dataclasses import replace

import numpy as np
import pytest

from model_export.doctor.case import Diagnosis
from model_export.doctor.diagnose import findings_of
from model_export.doctor.picture import picture
from model_export.doctor.prepare import case_of
from model_export.recordings.recording import Recording, Series
from tests.support.colocations import colocation


def changed(column: str, place: slice, value: float) -> Recording:
    sound = colocation(days=5.0)
    values = sound.series[column].values.copy()
    values[place] = value
    return replace(sound, series={**sound.series, column: Series(sound.series[column].at_ms, values)})


def stepped() -> Recording:
    sound = colocation(days=8.0)
    series = sound.series["reference"]
    later = np.arange(len(series.values)) > 0.6 * len(series.values)
    moved = Series(series.at_ms, series.values + 0.4 * later)
    return replace(sound, series={**sound.series, "reference": moved})


def drifting() -> Recording:
    """The temperature rises with the drift, so that its weights could explain a part of it."""
    sound = colocation(days=8.0)
    ramp = np.linspace(0.0, 1.0, len(sound.series["reference"].values))
    added = {"reference": ramp, "temperature": 15.0 * ramp}
    series = {
        name: Series(one.at_ms, one.values + added.get(name, 0.0)) for name, one in sound.series.items()
    }
    return replace(sound, series=series)


def test_a_drift_is_as_large_in_the_picture_as_in_its_title() -> None:
    case = case_of(drifting(), "T-W")
    found = [one for one in findings_of([case]) if one.code == "drift"]
    (axes,) = picture(Diagnosis(tuple(found), (case,), {})).axes
    windows = next(line for line in axes.lines if line.get_label() == "each window")
    values = np.asarray(windows.get_ydata(), dtype=float)
    days = np.linspace(0.0, 1.0, len(values))
    assert np.polyfit(days, values, 1)[0] == pytest.approx(found[0].evidence["ramp"]["change"], rel=0.1)


@pytest.mark.parametrize(
    ("recording", "words", "shown"),
    [
        (changed("op1", slice(3000, 6000), 255.5), "op1 was stuck at 255.5", "stuck channel"),
        (stepped(), "the reference reads +0.", "the step"),
        (colocation(days=5.0), "Is the clock right?", "as stamped"),
    ],
    ids=["stuck", "step", "sound"],
)
def test_it_shows_the_finding_that_its_title_names(recording: Recording, words: str, shown: str) -> None:
    case = case_of(recording, "T-W")
    figure = picture(Diagnosis(tuple(findings_of([case])), (case,), {}))
    assert words in figure.get_suptitle().replace("\n", " ")
    assert shown in [text.get_text() for legend in figure.legends for text in legend.get_texts()]
