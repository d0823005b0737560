"""Windows are bounded: a flood, and sensors that somebody invents."""

from collections import Counter

from edge_agent.core.windows import (
    Outcome,
    Windows,
)
from tests.edge_agent.core.test_windows import GRACE_MS, LENGTH_MS, feed, reading


def test_a_flood_is_bounded_and_counted() -> None:
    windows = Windows(LENGTH_MS, GRACE_MS, max_readings=100)
    outcomes = Counter(feed(windows, *(reading(at_ms) for at_ms in range(500))))
    assert outcomes == {Outcome.ACCEPTED: 100, Outcome.EXCESS: 400}


def test_all_windows_together_are_bounded_until_one_closes() -> None:
    """Many sensors can need more memory than there is; the timestamp of a dropped reading still counts."""
    windows = Windows(LENGTH_MS, GRACE_MS, max_total=100)
    feed(windows, *(reading(at_ms, sensor="5CB6") for at_ms in range(60)))
    outcomes = feed(windows, *(reading(at_ms) for at_ms in range(50)))
    assert Counter(outcomes) == {Outcome.ACCEPTED: 40, Outcome.EXCESS: 10}
    assert feed(windows, reading(LENGTH_MS + GRACE_MS)) == [Outcome.EXCESS]
    [window] = windows.close()
    assert (window.sensor, window.channels["op1"].readings) == ("5A2D", 40)
    again = feed(windows, *(reading(LENGTH_MS + GRACE_MS + at_ms) for at_ms in range(50)))
    assert Counter(again) == {Outcome.ACCEPTED: 40, Outcome.EXCESS: 10}


def test_invented_sensors_take_no_room_from_those_with_a_bundle() -> None:
    """115 of them fill all there is for sensors without a bundle; the one with a bundle loses nothing."""
    windows = Windows(LENGTH_MS, GRACE_MS, served={"5A2D"})
    invented = (
        reading(at_ms, channel=channel, sensor=f"X{number}")
        for number in range(115)
        for channel in ("op1", "op2", "temperature")
        for at_ms in range(1_800)
    )
    outcomes = Counter(windows.add(each, now_ms=each.at_ms) for each in invented)
    assert outcomes[Outcome.EXCESS] > 0
    assert Counter(feed(windows, *(reading(n * 15_000) for n in range(60)))) == {Outcome.ACCEPTED: 60}


def test_a_sensor_that_gets_a_bundle_takes_its_readings_along() -> None:
    served: set[str] = set()
    windows = Windows(LENGTH_MS, GRACE_MS, served=served, max_unserved=10)
    assert Counter(feed(windows, *(reading(n) for n in range(12)))) == {
        Outcome.ACCEPTED: 10,
        Outcome.EXCESS: 2,
    }
    served.add("5A2D")
    assert feed(windows, reading(20)) == [Outcome.ACCEPTED]
    assert Counter(feed(windows, *(reading(n, sensor="X") for n in range(12)))) == {
        Outcome.ACCEPTED: 10,
        Outcome.EXCESS: 2,
    }
    served.clear()
    windows.close_all()
    assert feed(windows, reading(LENGTH_MS), reading(LENGTH_MS, sensor="X")) == [Outcome.ACCEPTED] * 2
