"""A change of a model is known, also after a restart, with its first window."""

import pytest

from edge_agent.core.messages import Estimate
from edge_agent.core.model_changes import ModelChanges

QUARTER_MS = 900_000


def estimate(number: int, model: str | None, revision: int = 0) -> Estimate:
    start_ms = number * QUARTER_MS
    return Estimate("5A2D", start_ms, start_ms + QUARTER_MS, 1, (), {}, {}, model=model, revision=revision)


def test_the_first_window_is_the_first_new_one_with_the_new_model() -> None:
    """Not one with the old model, and not a revision of an old window."""
    changes = ModelChanges()
    assert changes.use("5A2D", "old", now_ms=0)
    assert changes.note([estimate(1, "old"), estimate(2, "old")]) == ["5A2D"]
    assert not changes.use("5A2D", "old", now_ms=QUARTER_MS)
    assert changes.use("5A2D", "new", now_ms=3 * QUARTER_MS)
    assert changes.note([estimate(2, "old"), estimate(1, "new", revision=1)]) == []
    assert changes.fields("5A2D")["first_window"] is None
    assert changes.note([estimate(3, "new"), estimate(4, "new")]) == ["5A2D"]
    expected = {
        "previous": "old",
        "changed_at": "1970-01-01T00:45:00Z",
        "first_window": "1970-01-01T00:45:00Z",
    }
    assert changes.fields("5A2D") == expected
    again = ModelChanges(changes.encode())
    assert not again.use("5A2D", "new", now_ms=9 * QUARTER_MS)
    assert again.fields("5A2D") == expected


def test_a_sensor_without_a_model_has_no_change() -> None:
    changes = ModelChanges()
    assert changes.note([estimate(1, None)]) == []
    assert changes.fields("5A2D") == {"previous": None, "changed_at": None, "first_window": None}


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "[]",
        "{",
        "null",
        '{"5A2D": 1}',
        '{"5A2D": {"model": "a"}}',
        "[" * 100_000,
        '{"5A2D": {"model": "a", "previous": null, "changed_ms": 1e300, "first_window_ms": null}}',
    ],
)
def test_a_damaged_text_has_no_changes(stored: str) -> None:
    assert ModelChanges(stored).encode() == "{}"
