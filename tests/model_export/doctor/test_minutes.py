"""Recordings on whole minutes, and what of them is fast."""

import numpy as np
import pytest

from model_export.doctor.minutes import clipped, fast, on_minutes, slow, without
from model_export.recordings.recording import REFERENCE, Recording, Series
from tests.support.colocations import FIRST_MS, MINUTE_MS, colocation


def test_values_of_one_minute_are_averaged_and_gaps_stay_gaps() -> None:
    """Two values in a minute count as one; a minute without any is NaN."""
    at_ms = FIRST_MS + np.array([0, 30_000, 2 * MINUTE_MS])
    column = Series(at_ms, np.array([1.0, 3.0, 5.0]))
    series = dict.fromkeys(("op1", "temperature", REFERENCE), column)
    minutes = on_minutes(Recording("x", "x", ("op1",), series, {}, ()))
    assert minutes.channels[0] == pytest.approx([2.0, np.nan, 5.0], nan_ok=True)


def test_a_reference_stamped_at_the_end_stands_at_the_first_of_its_minutes() -> None:
    """The same means stamped at the start and at the end are one recording."""
    start = colocation(days=2.0, every=15)
    late = Series(start.series[REFERENCE].at_ms + 15 * MINUTE_MS, start.series[REFERENCE].values)
    end = Recording("x", "x", start.channels, {**start.series, REFERENCE: late}, {}, ())
    first, second = on_minutes(start, "start"), on_minutes(end, "end")
    assert np.array_equal(first.reference, second.reference, equal_nan=True)


def test_a_clock_that_was_never_set_costs_no_memory() -> None:
    """One row of 1970 stands two days before the others, not half a century."""
    sound = colocation(days=2.0)
    series = {
        name: Series(np.insert(one.at_ms, 0, 0), np.insert(one.values, 0, one.values[0]))
        for name, one in sound.series.items()
    }
    minutes = on_minutes(Recording("x", "x", sound.channels, series, {}, ()))
    assert minutes.channels.shape == (2, 1 + 2880 - 1 + 2880)
    assert np.array_equal(minutes.channels[:, 2880:], on_minutes(sound).channels)


def test_the_running_mean_of_a_constant_is_that_constant() -> None:
    """Also beside gaps, and NaN where hardly anything is there."""
    values = np.full(1000, 3.0)
    values[300:360] = np.nan
    values[600:] = np.nan
    found = slow(values, 100)
    assert found[:600] == pytest.approx(np.full(600, 3.0))
    assert np.isnan(found[700:]).all()


def test_clipping_moves_nothing_that_is_near() -> None:
    """A spike keeps its place and loses its height."""
    values = np.random.default_rng(0).normal(size=500)
    spiked = values.copy()
    spiked[100] = 1e6
    found = clipped(spiked)
    assert np.argmax(found) == 100
    assert found[100] < 10.0
    assert np.array_equal(np.delete(found, 100), np.delete(spiked, 100))


def test_what_goes_with_a_cause_is_taken_out() -> None:
    """The rest of a line is nothing, and missing where either is."""
    cause = np.linspace(0.0, 1.0, 50)
    cause[7] = np.nan
    rest = without(3.0 * cause + 2.0, cause)
    assert np.isnan(rest[7])
    assert np.nanmax(np.abs(rest)) < 1e-12


def test_the_fast_part_of_a_channel_forgets_its_level() -> None:
    """Another zero, the same fast part."""
    sound = colocation(days=2.0)
    op1 = sound.series["op1"]
    higher = {**sound.series, "op1": Series(op1.at_ms, op1.values + 500.0)}
    one, other = (
        fast(on_minutes(sound)),
        fast(on_minutes(Recording("x", "x", sound.channels, higher, {}, ()))),
    )
    assert other.channels == pytest.approx(one.channels, abs=1e-9, nan_ok=True)
