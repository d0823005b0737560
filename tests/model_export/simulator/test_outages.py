"""Gaps that leave exactly the wanted windows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from model_export.simulator.outages import minutes_present, reference_present
from model_export.simulator.rng import stream


@given(st.integers(1, 2_500), st.integers(0, 2**32))
def test_the_reference_has_exactly_the_wanted_windows(windows: int, seed: int) -> None:
    """Exactly this many readings remain, and the deployment ends with one."""
    present = reference_present(stream(seed, "reference"), windows)
    assert present.sum() == windows
    assert present[-1]


@given(st.data(), st.integers(0, 2**32))
def test_a_package_keeps_exactly_the_wanted_windows(data: st.DataObject, seed: int) -> None:
    """12 of 15 minutes on both channels in just as many windows that have a reference."""
    rng = stream(seed, "package")
    reference = reference_present(rng, data.draw(st.integers(1, 600)))
    wanted = data.draw(st.integers(0, int(reference.sum())))
    electrodes, temperature = minutes_present(rng, reference, wanted)
    kept = (electrodes.sum(axis=1) >= 12) & (temperature.sum(axis=1) >= 12) & reference
    assert kept.sum() == wanted


def test_outages_are_long_and_loose_minutes_are_rare() -> None:
    """Half of a recording is lost in a handful of runs, not in scattered windows."""
    rng = stream(1, "package")
    reference = np.ones(1_000, dtype=bool)
    electrodes, _ = minutes_present(rng, reference, 500)
    kept = electrodes.sum(axis=1) >= 12
    assert np.count_nonzero(np.diff(kept.astype(int))) <= 12
    assert 0.0 < 1.0 - electrodes[kept].mean() < 0.01
