"""The adapter."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.errors import BadRecording
from model_export.calibration import export
from model_export.calibration.adapt import PLAIN, Adapting, adapt, fit_adapter
from model_export.calibration.fit import evaluate
from model_export.calibration.transfer import transfer
from tests.support.models import drawn, linear


@given(gain=st.floats(-5.0, 5.0), offset=st.floats(-100.0, 100.0))
def test_a_straight_line_is_fitted_exactly(gain: float, offset: float) -> None:
    """Least squares leaves no residual."""
    estimate = np.linspace(0.0, 3.0, 40)
    assert (gain, offset) == pytest.approx(fit_adapter(estimate, gain * estimate + offset), abs=1e-9)


@given(gain=st.floats(0.2, 5.0), offset=st.floats(-5.0, 5.0))
def test_a_shifted_site_is_corrected(gain: float, offset: float) -> None:
    """The estimates match a reference on another scale, also after a second adapter."""
    model, dataset = linear(), drawn(60)
    shifted = replace(dataset, target=gain * dataset.target + offset)
    adapted = adapt(model, shifted)
    assert evaluate(adapted, shifted).r2 == pytest.approx(1.0)
    assert (gain, offset) == pytest.approx(adapted.adapter, abs=1e-6)
    back = adapt(adapted, dataset)
    assert back.adapter == pytest.approx((1.0, 0.0), abs=1e-6)


def test_the_interval_is_measured_again() -> None:
    """An adapted model covers at the new place, for any old interval."""
    model = linear(half_width=99.0)
    there = drawn(400, seed=1, noise=0.1)
    there = replace(there, target=2.0 * there.target + 1.0)
    adapted = adapt(model, there)
    fresh = drawn(20_000, seed=2, noise=0.1)
    fresh = replace(fresh, target=2.0 * fresh.target + 1.0)
    assert 0.87 <= evaluate(adapted, fresh).coverage <= 0.93


def test_what_was_said_of_the_old_interval_is_not_said_of_the_new_one() -> None:
    """`covered` is measured again, and the noise of another reference is not known."""
    facts: dict[str, str | float] = {"dataset": "made up", "covered": "time 0.99", "reference_noise": 0.02}
    known = replace(linear(half_width=99.0), provenance=facts)
    adapted = adapt(known, drawn(400, noise=0.1)).provenance
    assert [*adapted] == ["dataset", "covered"]
    assert str(adapted["covered"]).startswith("time 0.9")
    assert str(adapted["covered"]) != facts["covered"]
    moved, _ = transfer(known, drawn(100), replace(drawn(100, seed=1), sensor="5CB6"))
    assert moved.provenance == {"dataset": "made up"}


def test_an_adapted_model_is_good_again_for_as_long_as_it_was() -> None:
    """From the end of the new data on; one that is good for ever stays so."""
    day_ms, dataset = 86_400_000, drawn(60)
    end_ms = int(dataset.start_ms[-1]) + 900_000
    model = replace(linear(), calibrated_ms=day_ms, valid_until_ms=91 * day_ms)
    adapted = export.renewed(model, dataset)
    assert (adapted.calibrated_ms, adapted.valid_until_ms) == (end_ms, end_ms + 90 * day_ms)
    timeless = export.renewed(linear(), dataset)
    assert (timeless.calibrated_ms, timeless.valid_until_ms) == (end_ms, None)


def test_too_few_windows_are_refused() -> None:
    """Five hours are the least."""
    with pytest.raises(BadRecording) as caught:
        adapt(linear(), drawn(19))
    assert str(caught.value) == (
        "drawn.csv: expected at least 20 windows with all columns valid, got 19 (dropped: none); "
        "add a longer recording"
    )


def test_estimates_that_never_change_are_refused() -> None:
    """They determine no gain."""
    dataset = drawn(30)
    still = replace(dataset, inputs=np.ones_like(dataset.inputs), auxiliary=np.ones(30))
    with pytest.raises(BadRecording) as caught:
        adapt(linear(), still)
    assert str(caught.value).startswith("drawn.csv: expected estimates that vary, got ")


def test_the_newest_windows_count_most() -> None:
    """A zero that shifted a month ago is corrected as it is now, not as it was on average."""
    dataset = drawn(60 * 96, noise=0.05)
    late = dataset.start_ms >= dataset.start_ms[30 * 96]
    shifted = replace(dataset, target=dataset.target + np.where(late, 1.0, 0.0))
    assert adapt(linear(), shifted).adapter[1] == pytest.approx(1.0, abs=0.1)
    assert adapt(linear(), shifted, PLAIN).adapter[1] == pytest.approx(0.5, abs=0.1)


def test_a_gain_that_is_hardly_known_stays_near_one() -> None:
    """In clean air the estimates are noise, and least squares would flatten them; the offset is kept."""
    random = np.random.default_rng(0)
    estimate, reference = random.normal(1.0, 0.05, 60), random.normal(2.0, 0.5, 60)
    start_ms = 900_000 * np.arange(60, dtype=np.int64)
    plain, _ = fit_adapter(estimate, reference, start_ms)
    gain, offset = fit_adapter(estimate, reference, start_ms, Adapting(None, 0.5))
    assert abs(gain - 1.0) < 0.3 < abs(plain - 1.0)
    assert gain * estimate.mean() + offset == pytest.approx(reference.mean())
