"""Positions: a window's place from fixes in any order, bounded, with every odd message refused."""

import contextlib
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.core.errors import BadReading
from edge_agent.core.messages import UNSTAMPED, Estimate, decode_estimate, encode_estimate
from edge_agent.core.places import Place, Position, Site, distance_m
from edge_agent.core.positions import (
    MAX_BYTES,
    MOST,
    MOST_PLACES,
    REACH_MS,
    SLOT_MS,
    Fix,
    Positions,
    decode_fix,
)
from edge_agent.core.windows import Outcome

START_MS = 1_706_778_000_000
END_MS = START_MS + 900_000
NOW_MS = END_MS + 60_000
T = Site("T", 52.5163, 13.3777, 100.0)


def fixes(count: int, seed: int = 1, speed_kmh: float | None = 0.0) -> list[Fix]:
    """A van that stands at site T, with the noise of a receiver, over one window."""
    chance = random.Random(seed)
    return [
        Fix(START_MS + n * 900_000 // count, chance.gauss(T.lat, 2e-5), chance.gauss(T.lon, 2e-5), speed_kmh)
        for n in range(count)
    ]


def placed(track: list[Fix], **options: Any) -> Place:
    positions = Positions([T], **options)
    for fix in track:
        positions.add(fix, NOW_MS)
    return positions.place(START_MS, END_MS)


def test_a_parked_van_is_at_its_site() -> None:
    place = placed(fixes(90))
    assert place.site == "T"
    assert not place.moving
    assert place.position
    assert place.position.fixes == 90
    assert place.position.speed_kmh == 0.0
    assert distance_m(place.position.lat, place.position.lon, T.lat, T.lon) < 2
    assert 1 < (place.position.spread_m or 0) < 20


@given(st.permutations(fixes(15)))
@settings(max_examples=30, deadline=None)
def test_the_order_of_arrival_changes_no_bit(track: list[Fix]) -> None:
    assert placed(track) == placed(fixes(15))


def test_without_a_fix_nothing_is_known() -> None:
    assert placed([]) == Place(None, None, False)


def test_a_speed_or_a_spread_is_moving() -> None:
    """One fast fix is enough, and so is a window that begins at one place and ends at another."""
    track = fixes(90)
    driving = [fix._replace(speed_kmh=5.1) if n == 40 else fix for n, fix in enumerate(track)]
    elsewhere = [fix._replace(lat=52.52) if n > 80 else fix for n, fix in enumerate(track)]
    assert placed(driving).moving
    assert placed(elsewhere).moving
    assert not placed(driving, moving_kmh=6.0).moving
    assert not placed(elsewhere, moving_m=1_000.0).moving


def test_minutes_count_alike() -> None:
    """Six fixes in the first minute weigh as much as one in the second, as with readings."""
    first = [Fix(START_MS + n * SLOT_MS, 52.0, 13.0, None) for n in range(6)]
    place = placed([*first, Fix(START_MS + 60_000, 52.001, 13.0, None)])
    assert place.position
    assert (place.position.lat, place.position.fixes, place.position.speed_kmh) == (52.0005, 7, None)


def test_the_date_line_is_no_edge() -> None:
    track = [Fix(START_MS, 0.5, 179.9999, 0.0), Fix(START_MS + 60_000, 0.5, -179.9999, 0.0)]
    place = placed(track)
    assert place.position
    assert abs(place.position.lon) == 180.0
    assert place.position.spread_m == 11.1
    assert not place.moving


def test_the_last_fix_holds_for_an_hour_unless_it_was_on_the_way() -> None:
    last = Fix(START_MS - 3_500_000, 52.5163, 13.3777, None)
    assert placed([last]) == Place(Position(52.5163, 13.3777, None, None, 0), "T", False)
    assert placed([last._replace(speed_kmh=40.0)]) == Place()
    assert placed([last._replace(at_ms=START_MS - 3_700_000)]) == Place()
    assert placed([last], hold_ms=0) == Place()


def test_a_fixed_position_needs_no_fix() -> None:
    fixed = Place(Position(52.5163, 13.3777, 0.0, 0.0, None))
    assert placed([], fixed=fixed) == fixed._replace(site="T")
    assert placed([], fixed=fixed._replace(site="mine")) == fixed._replace(site="mine")


def test_a_place_is_computed_once_until_a_fix_comes() -> None:
    """Two hundred sensors close their windows at once; a day of fixes takes 80 ms."""
    positions = Positions([T])
    for fix in fixes(90):
        positions.add(fix, NOW_MS)
    before = positions.place(START_MS, END_MS)
    assert positions.place(START_MS, END_MS) is before
    positions.add(Fix(END_MS - 1, 52.6, 13.4, 50.0), NOW_MS)
    assert positions.place(START_MS, END_MS) is before, "the slot has a fix"
    positions.add(Fix(END_MS, 52.6, 13.4, 50.0), NOW_MS)
    assert positions.place(START_MS, END_MS) == before
    assert positions.place(END_MS, END_MS + 900_000).moving
    for start_ms in range(0, 900_000 * 300, 900_000):
        positions.place(start_ms, start_ms + 900_000)
    assert len(positions._places) <= MOST_PLACES


def test_one_fix_in_ten_seconds_is_kept() -> None:
    positions = Positions()
    outcomes = [positions.add(Fix(START_MS + n * 1_000, 52.0, 13.0, None), NOW_MS) for n in range(20)]
    assert outcomes == ([Outcome.ACCEPTED] + [Outcome.DUPLICATE] * 9) * 2


def test_a_day_is_kept_and_the_future_refused() -> None:
    positions = Positions()
    fix = Fix(NOW_MS, 52.0, 13.0, None)
    assert positions.add(fix._replace(at_ms=NOW_MS - 9 * REACH_MS), NOW_MS) is Outcome.ACCEPTED, "a backlog"
    assert positions.add(fix._replace(at_ms=NOW_MS + 300_001), NOW_MS) is Outcome.FUTURE
    for n in range(MOST + 10):
        positions.add(fix._replace(at_ms=n * SLOT_MS), 0, trusted=False)
    assert len(positions._fixes) == MOST


def test_the_newest_fix_may_come_again_without_its_speed() -> None:
    """A backlog has pushed it out, so it is no duplicate; nothing is compared but the time."""
    positions = Positions(most=1)
    for at_ms, speed_kmh in ((90_000, 0.0), (10_000, 0.0), (90_000, None)):
        assert positions.add(Fix(at_ms, 52.0, 13.0, speed_kmh), now_ms=90_000) is Outcome.ACCEPTED
    assert positions.newest == Fix(90_000, 52.0, 13.0, 0.0)


def test_a_fix_from_the_future_is_forgotten_with_the_clock() -> None:
    """Without a clock it is accepted; with one it must not stay the newest."""
    positions = Positions()
    positions.add(Fix(NOW_MS * 2, 52.0, 13.0, None), 0, trusted=False)
    real = Fix(NOW_MS - 5, 52.0, 13.0, None)
    assert positions.add(real, NOW_MS) is Outcome.ACCEPTED
    assert positions.newest == real


def test_a_fix_of_ours_and_one_of_owntracks() -> None:
    sent = b'{"_type":"location","lat":48.858,"lon":2.295,"tst":1706782530,"vel":-1,"acc":8,"tid":"v1"}'
    assert decode_fix(sent) == Fix(1_706_782_530_000, 48.858, 2.295, None)
    assert decode_fix(b'{"lat": -0.0, "lon": 1, "speed_kmh": 0}') == Fix(UNSTAMPED, 0.0, 1.0, 0.0)
    assert str(decode_fix(b'{"lat": -0.0, "lon": 1}').lat) == "0.0"


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (b"", "payload"),
        (b"52.5", "map"),
        (b'{"lat": 52.5}', "number"),
        (b'{"lat": 91, "lon": 0}', "range"),
        (b'{"lat": 1, "lon": -180.1}', "range"),
        (b'{"lat": NaN, "lon": 1}', "number"),
        (b'{"lat": true, "lon": 1}', "number"),
        (b'{"lat": "52.5", "lon": 1}', "number"),
        (b'{"lat": 0, "lon": 0}', "position"),
        (b'{"lat": 1, "lon": 1, "speed_kmh": 1e9}', "range"),
        (b'{"lat": 1, "lon": 1, "at": "noon"}', "time"),
        (b'{"_type": "lwt", "tst": 1}', "type"),
        (b'{"_type": ["location"], "lat": 1, "lon": 1}', "type"),
        (b'{"_type": "location", "lat": 1, "lon": 1, "vel": -2}', "range"),
        (b'{"lat":' + b"[" * 5_000, "payload"),
        (b" " * (MAX_BYTES + 1), "size"),
    ],
)
def test_what_is_no_fix_is_refused_by_kind(payload: bytes, kind: str) -> None:
    with pytest.raises(BadReading) as caught:
        decode_fix(payload)
    assert caught.value.kind == kind


@given(st.binary(max_size=200))
def test_any_bytes_are_a_fix_or_the_one_error(payload: bytes) -> None:
    with contextlib.suppress(BadReading):
        assert isinstance(decode_fix(payload), Fix)


def test_an_estimate_carries_its_position_both_ways() -> None:
    """The keys are there, and null, where no position is known."""
    estimate = Estimate("5A2D", START_MS, END_MS, 1, (), {}, {})
    told = json.loads(encode_estimate(estimate))
    assert (told["position"], told["site"]) == (None, None)
    place = placed(fixes(90))
    there = Estimate("5A2D", START_MS, END_MS, 1, (), {}, {}, position=place.position, site=place.site)
    assert decode_estimate(encode_estimate(there)) == there
    assert list(json.loads(encode_estimate(there))["position"]) == [*Position._fields]
