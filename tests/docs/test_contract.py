"""The tables of docs/mqtt.md, row by row, against one session with a real agent and broker."""

import json
import re
from collections.abc import Iterator
from math import isclose
from typing import Any

import pytest

from edge_agent.core import messages
from tests.docs.test_mqtt_doc import ROOT, TEXT
from tests.support.contract import FAILED, FORMS, MINUTE_MS, MOVING, POOR, STUCK, SUSPECT, Session, session

# Rows that need another session: the test that shows them.
ELSEWHERE = {
    "unstampable": "system/test_agent_clock.py::test_after_another_boot_held_readings_cannot_be_placed",
    "waiting_for_clock": "system/test_agent_clock.py::test_unstamped_readings_wait_for_the_clock",
    "dropped": "edge_agent/test_trimming.py::test_late_readings_that_wait_are_deleted_last_but_one",
    "clock_unsynchronised": "system/test_agent_clock.py::test_a_van_that_loses_its_network_goes_on",
    "value_not_finite": "edge_agent/core/test_pipeline.py::test_an_estimate_that_is_not_finite_fails",
    "swapped_suspected": "edge_agent/core/test_examination.py::test_another_gas_is_found",
    "sensitivity_lost": "edge_agent/core/test_examination.py::test_lost_sensitivity_is_told_from_drift",
    "drifting": "edge_agent/core/test_examination.py::test_a_drifting_zero_is_found",
    "disagrees": "edge_agent/core/test_examination.py::test_a_constant_difference_beyond_the_interval",
    "the agent cannot read its journal": "edge_agent/test_history.py::test_a_journal_that_cannot_be_read",
}
SENSORS = ("5A2D", "5CB6", "0000")
TYPES: dict[str, Any] = {
    "1": int, "text": str, "text or null": (str, type(None)), "number or null": (int, float, type(None)),
    "map or null": (dict, type(None)), "ISO 8601, UTC": str, "integer": int,
    "integer or null": (int, type(None)), "1, 3, 4 or 9": int, "list of text": list, "map": dict,
}  # fmt: skip


def rows(heading: str) -> list[list[str]]:
    """The cells of the table whose heading begins so, without marks."""
    table = TEXT.split(f"\n| {heading} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip("`") for cell in line[2:-2].split(" | ")] for line in table]


def named(heading: str) -> list[str]:
    return [row[0] for row in rows(heading)]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with session(tmp_path_factory.mktemp("contract")) as made:
        yield made


def is_shown_elsewhere(row: str) -> bool:
    """Whether the named test exists."""
    path, _, name = ELSEWHERE.get(row, "::").partition("::")
    return bool(path) and f"def {name}" in (ROOT / "tests" / path).read_text()


@pytest.mark.parametrize("row", rows("topic"), ids=lambda row: row[0])
def test_a_topic_is_published_and_retained_as_its_row_says(told: Session, row: list[str]) -> None:
    topic, direction, retained, _ = row
    if direction == "in":
        assert retained != "yes"
        return
    topic = topic.replace("{id}", "last")
    assert any(m.topic == topic and m.payload for m in told.messages)
    assert (topic in told.newcomer) == (retained == "yes")


def test_nothing_else_is_published_and_everything_with_qos_1(told: Session) -> None:
    known = {re.sub(r"5A2D|co-8h|\{id\}", "+", topic) for topic in named("topic")}
    heard = {re.sub(r"(calibrated|alert|response)/[^/]+", r"\1/+", m.topic) for m in told.messages}
    assert {re.sub(r"alert/\+/.*", "alert/+/+", topic) for topic in heard} <= known
    assert {m.qos for m in told.messages} == {1}


@pytest.mark.parametrize("outcome", named("outcome"))
def test_an_outcome_is_counted(told: Session, outcome: str) -> None:
    assert told.counts[outcome] > 0 or is_shown_elsewhere(outcome)


@pytest.mark.parametrize("row", rows("reason"), ids=lambda row: row[0])
def test_a_reason_comes_with_its_flags(told: Session, row: list[str]) -> None:
    reason, flags = row[0], {int(flag) for flag in row[1].split(" or ")}
    pattern = re.compile(reason.replace("*", ".*"))
    found = [
        each["quality"] for each in told.estimates(*SENSORS) if any(map(pattern.fullmatch, each["reasons"]))
    ]
    assert found or is_shown_elsewhere(reason)
    assert all(min(flags) <= quality for quality in found)


def test_flags_and_values_of_the_windows_that_are_not_as_the_others(told: Session) -> None:
    first = {each["start"]: each for each in told.estimates("5A2D") if each["revision"] == 0}
    flags = [each["quality"] for _, each in sorted(first.items())]
    odd = {MOVING: 3, SUSPECT: 3, FAILED: 4, STUCK: 3, POOR: 9}
    assert {place: flag for place, flag in enumerate(flags) if flag != 1} == odd
    for each in told.estimates(*SENSORS):
        assert (each["value"] is None) == (each["quality"] == 9)
        assert bool(each["reasons"]) == (each["quality"] != 1)


@pytest.mark.parametrize("row", rows("field | type"), ids=lambda row: row[0])
def test_a_field_of_every_estimate_has_its_type(told: Session, row: list[str]) -> None:
    name, kind = row[0], TYPES[row[1]]
    estimates = told.estimates(*SENSORS)
    assert all(isinstance(each[name], kind) for each in estimates)


def test_a_value_is_the_sum_of_weights_and_inputs_within_its_interval(told: Session) -> None:
    for each in told.estimates("5A2D", "5CB6"):
        if weights := each["weights"]:
            bias = weights.pop("bias")
            total = bias + sum(weight * each["inputs"][name] for name, weight in weights.items())
            assert isclose(total, each["value"], abs_tol=1e-5)
        outside = any(reason.endswith("_outside_training") for reason in each["reasons"])
        assert (each["low"] is None) == (each["value"] is None or outside)
        assert each["low"] is None or each["low"] < each["value"] < each["high"]


def test_sequence_numbers_grow_by_one_and_starts_go_back_only_for_revisions(told: Session) -> None:
    estimates = told.estimates("5A2D")
    assert [each["seq"] for each in estimates] == list(range(1, len(estimates) + 1))
    starts = [each["start"] for each in estimates if each["revision"] == 0]
    assert starts == sorted(set(starts))


def test_a_revision_replaces_and_latest_stays_the_newest_window(told: Session) -> None:
    [revision] = [each for each in told.estimates("5A2D") if each["revision"]]
    assert (revision["revision"], revision["supersedes"], revision["cause"]) == (1, 0, "late_readings")
    assert (revision["quality"], revision["minutes"]["op1"]) == (1, 15)
    latest = json.loads(told.newcomer["respire/van-1/calibrated/5A2D/co/latest"])
    assert latest == max(told.estimates("5A2D"), key=lambda each: each["start"])
    hours = [each for each in told.of("calibrated/5A2D/co/1h") if each["revision"]]
    assert {each["cause"] for each in hours} == {"late_readings"}


def test_an_agent_gives_the_causes_of_the_document(told: Session) -> None:
    """The code has no other cause for an estimate."""
    [described] = [row[2] for row in rows("field | type") if row[0] == "cause"]
    causes = {each["cause"] for each in told.estimates(*SENSORS)}
    assert causes == {None, messages.LATE_READINGS}
    assert re.findall(r"`(\w+_\w+)`", described) == [messages.LATE_READINGS]


def test_payloads_are_read_as_described(told: Session) -> None:
    answers = [each["reading"] for each in told.of("response/readings")]
    expected = [{"at": told.base_ms + n * MINUTE_MS, **values} for n, (_, _, values) in enumerate(FORMS)]
    assert [{**each, "at": messages.parse_time(each["at"])} for each in answers] == expected


def test_requests_are_answered_as_described(told: Session) -> None:
    stream = told.estimates("5A2D")
    for id_, expected in (
        ("last", stream[-3:]),
        ("times", [each for each in stream if messages.parse_time(each["start"]) < told.base_ms + 3_600_000]),
        ("after", stream[30:]),
    ):
        answers = told.of(f"response/{id_}")
        assert [each["estimate"] for each in answers] == expected
        assert {(each["id"], each["of"], each["more"]) for each in answers} == {(id_, len(expected), False)}
        assert [each["index"] for each in answers] == list(range(len(expected)))
    assert [each["consensus"] for each in told.of("response/agreed")] == told.of("consensus/co")[-2:]


@pytest.mark.parametrize(
    ("case", "id_"),
    [("there is nothing", "none"), ("the request is wrong", "wrong"), ("more than 16", "many39")],
)
def test_a_request_that_cannot_be_served_gets_the_answer_of_its_row(
    told: Session, case: str, id_: str
) -> None:
    [text] = [row[1] for row in rows("case") if row[0].startswith(case)]
    assert told.of(f"response/{id_}") == [{**json.loads(text), "id": id_}]


def test_a_request_without_a_valid_id_gets_no_answer(told: Session) -> None:
    assert not [m for m in told.messages if m.topic.endswith("/b")]
    assert is_shown_elsewhere("the agent cannot read its journal")


def test_status_health_position_and_cards_are_there_for_a_newcomer(told: Session) -> None:
    assert told.newcomer["respire/van-1/status"] == b"online"
    health = json.loads(told.newcomer["respire/van-1/health"])
    assert health["bundles"]["loaded"] == 2
    assert health["outbox"]["depth"] >= 0
    position = json.loads(told.newcomer["respire/van-1/position"])
    assert (position["lat"], position["lon"], position["speed_kmh"]) == (52.5, 13.4, 50.0)
    card = json.loads(told.newcomer["respire/van-1/calibrated/5A2D/model"])
    assert card["id"] == told.estimates("5A2D")[0]["model"]
    assert card["first_window"] == told.estimates("5A2D")[0]["start"]
    alert = json.loads(told.newcomer["respire/van-1/alert/5A2D/co-8h"])
    assert (alert["state"], alert["sensor"]) == ("raised", "5A2D")


def test_every_test_that_is_named_exists() -> None:
    assert [row for row in ELSEWHERE if not is_shown_elsewhere(row)] == []
