"""The tables of docs/mqtt.md, row by row, against one session with a real agent and broker."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from edge_agent.core import messages
from tests.docs.laws import Law, beside, derived, estimates, health, history, places
from tests.docs.test_mqtt_doc import ROOT, TEXT
from tests.support.contract import Session, session
from tests.support.contract_sent import FORMS, MINUTE_MS

# A table's heading, and the section it is in where several tables have that heading; the law of each row.
LAWS: dict[tuple[str, str], dict[str, Law]] = {
    ("outcome", ""): health.OUTCOMES,
    ("field | type", ""): estimates.ESTIMATE,
    ("flag", ""): estimates.FLAGS,
    ("field of a mean", ""): derived.MEAN,
    ("field of a consensus", ""): derived.COMBINED,
    ("left out because", ""): derived.LEFT_OUT,
    ("reason of a consensus", ""): derived.REASONS,
    ("field of a score", ""): beside.SCORE,
    ("outcome of a reference value", ""): beside.OUTCOMES,
    ("outcome of a fix", ""): places.OUTCOMES,
    ("field of a position", ""): places.POSITION,
    ("field of the published position", ""): places.PUBLISHED,
    ("key of a request", ""): history.KEYS,
    ("field of an alert", ""): beside.ALERT,
    ("field", "## Health"): health.FIELDS,
    ("field of `outbox`", ""): health.OUTBOX,
    ("field of a sensor", ""): health.SENSOR,
    ("field of the health's position", ""): health.POSITION,
    ("field of the health's reference", ""): health.REFERENCE_FIELDS,
    ("field of a problem", ""): health.PROBLEM,
    ("field", "## Model card"): beside.CARD,
}
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
# Rows of which this session shows one case: the test that shows the other one.
PARTLY = {
    "unit_at": "system/test_position.py::test_a_fixed_position_is_in_every_estimate",
    "elevation_m": "system/test_position.py::test_a_fixed_position_is_in_every_estimate",
    "clock": "system/test_agent_clock.py::test_a_van_that_loses_its_network_goes_on",
    "status": "edge_agent/test_comparing.py::test_it_is_final_when_all_its_estimates_are",
    "reasons": "edge_agent/core/test_means.py::test_values_of_two_units_have_no_mean",
    "certificates": "system/test_city.py::test_a_renewed_certificate_is_loaded_and_its_end_is_in_health",
    "sensors_unlisted": "edge_agent/test_health.py::test_invented_names_do_not_swell_the_record",
    "suspected": "edge_agent/test_examining.py::test_a_wrong_sensor_is_suspected_a_day_after_it_shows",
    "outbox": "edge_agent/test_trimming.py"
    "::test_what_must_be_dropped_is_dropped_from_the_sensor_that_has_most_waiting",
    "power": "edge_agent/core/test_model.py::test_one_window_gets_the_estimate_and_the_weights_of_many",
}
PREFIX = "respire/van-1/"
TYPES: dict[str, Any] = {
    "1": int, "text": str, "text or null": (str, type(None)), "number or null": (int, float, type(None)),
    "map or null": (dict, type(None)), "ISO 8601, UTC": str, "integer": int,
    "integer or null": (int, type(None)), "1, 3, 4 or 9": int, "list of text": list, "map": dict,
}  # fmt: skip


def rows(heading: str, section: str = "") -> list[list[str]]:
    """The cells of the table whose heading begins so, without marks; the first after the section's title."""
    table = TEXT.partition(f"\n{section}")[2].split(f"\n| {heading} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip("`") for cell in line[2:-2].split(" | ")] for line in table]


def named(heading: str, section: str = "") -> list[str]:
    return [row[0] for row in rows(heading, section)]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with session(tmp_path_factory.mktemp("contract")) as made:
        yield made


def is_shown_elsewhere(row: str) -> bool:
    """Whether the named test exists."""
    path, _, name = {**PARTLY, **ELSEWHERE}.get(row, "::").partition("::")
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


@pytest.mark.parametrize(
    ("table", "row"),
    [(table, row) for table in LAWS for row in named(*table)],
    ids=lambda each: each[0] if isinstance(each, tuple) else each,
)
def test_a_row_means_what_it_says(told: Session, table: tuple[str, str], row: str) -> None:
    """Of every message of the session; or another test shows it."""
    if law := LAWS[table].get(row):
        found, expected = law(told)
        assert found == expected
    else:
        assert is_shown_elsewhere(row)


def test_every_table_has_laws() -> None:
    """Beside those with a test of their own."""
    headings = re.findall(r"\n\n\| ([^|]+) \|.*\n\|---", TEXT)
    own = {"topic", "reason", "case"}
    assert {*headings} == {heading.partition(" |")[0] for heading, _ in LAWS} | own
    assert len(headings) == len(LAWS) + len(own)


def test_no_law_is_of_a_row_that_is_gone() -> None:
    assert [row for table, laws in LAWS.items() for row in laws if row not in named(*table)] == []


@pytest.mark.parametrize("row", rows("reason"), ids=lambda row: row[0])
def test_a_reason_comes_with_its_flags(told: Session, row: list[str]) -> None:
    reason, flags = row[0], {int(flag) for flag in row[1].split(" or ")}
    pattern = re.compile(reason.replace("*", ".*"))
    found = [each["quality"] for each in told.estimates() if any(map(pattern.fullmatch, each["reasons"]))]
    assert found or is_shown_elsewhere(reason)
    assert all(min(flags) <= quality for quality in found)


@pytest.mark.parametrize("row", rows("field | type"), ids=lambda row: row[0])
def test_a_field_of_every_estimate_has_its_type(told: Session, row: list[str]) -> None:
    name, kind = row[0], TYPES[row[1]]
    estimates = told.estimates()
    assert all(isinstance(each[name], kind) for each in estimates)


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
    causes = {each["cause"] for each in told.estimates()}
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


def test_a_newcomer_gets_the_newest_of_what_is_retained(told: Session) -> None:
    assert told.newcomer[f"{PREFIX}status"] == b"online"
    for topic, payload in told.newcomer.items():
        if topic.endswith(("/model", "/score", "/position", "/co-8h", "/peak")):
            assert json.loads(payload) in told.of(topic.removeprefix(PREFIX))[-1:]
    newest = told.newest("consensus/co")
    assert json.loads(told.newcomer[f"{PREFIX}consensus/co/latest"]) == newest[max(newest)]
    assert f"{PREFIX}calibrated/QUIET/co/latest" not in told.newcomer


def test_every_test_that_is_named_exists() -> None:
    assert [row for row in (*ELSEWHERE, *PARTLY) if not is_shown_elsewhere(row)] == []
