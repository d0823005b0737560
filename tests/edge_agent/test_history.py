"""History on request, with a real journal and a real broker: everything asked for, a page at a time."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from edge_agent.change import Change
from edge_agent.core.messages import Reading, format_time
from edge_agent.core.topics import OwnTopics
from edge_agent.history import MAX_REQUESTS, History
from edge_agent.inbox import Connected, Inbox, Published
from edge_agent.journal import Journal
from edge_agent.mqtt import Address, Connection
from tests.edge_agent.test_export import consensus
from tests.edge_agent.test_publisher import WINDOW_MS, estimates
from tests.support.broker import Broker, client, subscribe, wait_until

MINUTE_MS = 60_000


class Desk:
    """A history at a real broker, turned by hand, and somebody who hears its answers."""

    def __init__(self, directory: Path, broker: Broker, heard: list[dict[str, Any]]) -> None:
        self.heard = heard
        self.inbox = Inbox[Connection]()
        self.connection = Connection(
            Address(broker.host, broker.port, "history"), None, self.inbox, lambda: 0
        )
        self.connection.start(["respire/van-1/request"])
        wait_until(lambda: any(isinstance(e, Connected) for _, e in self.inbox.receive(0.1, 10)))
        self.history = History(self.connection, OwnTopics("respire/van-1"), directory)

    def ask(self, **asked: Any) -> list[dict[str, Any]]:
        """All answers to one request."""
        self.heard.clear()
        sensor = {} if asked.get("what") == "consensus" else {"sensor": "5A2D"}
        self.history.ask(json.dumps({"id": "a", **sensor, **asked}).encode())
        self.turn()
        wait_until(lambda: self.heard and len(self.heard) >= self.heard[0].get("of", 1), what="answers")
        return list(self.heard)

    def turn(self) -> None:
        while self.history.answer():
            for _, event in self.inbox.receive(0.01, 1_000):
                if isinstance(event, Published):
                    self.history.settle(event.mid)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "journal.db", WINDOW_MS, "process-crash")) as made:
        yield made


@pytest.fixture
def desk(tmp_path: Path, journal: Journal, broker: Broker) -> Iterator[Desk]:
    heard: list[dict[str, Any]] = []
    with client(broker) as ear:
        ear.on_message = lambda *message: heard.append(json.loads(message[2].payload))
        subscribe(ear, "respire/van-1/response/+")
        made = Desk(tmp_path, broker, heard)
        yield made
        made.connection.stop()


def numbers(answers: list[dict[str, Any]]) -> list[int]:
    assert [(answer["id"], answer["index"]) for answer in answers] == [("a", n) for n in range(len(answers))]
    return [answer["estimate"]["seq"] for answer in answers]


def test_estimates_by_count_by_time_and_by_number(desk: Desk, journal: Journal) -> None:
    journal.commit(Change(estimates=estimates(10)), now_ms=0)
    start = [format_time(n * WINDOW_MS) for n in range(10)]
    for asked, expected in (
        ({}, [*range(1, 11)]),
        ({"last": 2}, [9, 10]),
        ({"after_seq": 7}, [8, 9, 10]),
        ({"from": start[8]}, [9, 10]),
        ({"to": start[2]}, [1, 2]),
        ({"from": start[2], "to": start[4]}, [3, 4]),
        ({"from": start[2], "to": start[6], "last": 2}, [5, 6]),
        ({"from": start[2], "to": start[6], "after_seq": 4}, [5, 6]),
    ):
        answers = desk.ask(**asked)
        assert numbers(answers) == expected, asked
        assert {answer["more"] for answer in answers} == {False}
        assert {answer["of"] for answer in answers} == {len(expected)}


def test_more_than_1000_come_in_pages(desk: Desk, journal: Journal) -> None:
    """`after_seq` of the last answer continues, also within two times."""
    journal.commit(Change(estimates=estimates(2_100)), now_ms=0)
    first = desk.ask(**{"from": 0})
    assert (numbers(first), {answer["more"] for answer in first}) == ([*range(1, 1_001)], {True})
    second = desk.ask(**{"from": 0, "after_seq": 1_000})
    assert (numbers(second), {answer["more"] for answer in second}) == ([*range(1_001, 2_001)], {True})
    third = desk.ask(**{"from": 0, "after_seq": 2_000})
    assert (numbers(third), {answer["more"] for answer in third}) == ([*range(2_001, 2_101)], {False})


def test_the_consensus_as_it_was_published(desk: Desk, journal: Journal) -> None:
    """By the same keys; the estimates and means of sensors are not in between."""
    for index in range(4):
        made = consensus(index)
        journal.commit(Change(estimates=estimates(1, first=index), derived=[made]), now_ms=0)
    told = [json.loads(each) for each in journal.outbox.last("consensus/co", 9)]
    assert [each["seq"] for each in told] == [1, 2, 3, 4]
    for asked, expected in (({}, told), ({"last": 1}, told[3:]), ({"after_seq": 2}, told[2:])):
        answers = desk.ask(what="consensus", **asked)
        assert [answer["consensus"] for answer in answers] == expected
    assert desk.ask(what="consensus", to=0) == [
        {"id": "a", "of": 0, "more": False, "index": 0, "consensus": None}
    ]


def test_readings_by_time_and_by_count(desk: Desk, journal: Journal) -> None:
    """One answer for each time, with all channels; other sensors, and what came late, in the right place."""
    for minute in (0, 1, 3, 4, 2):
        at_ms = minute * MINUTE_MS
        sent = [Reading("5A2D", "op1", at_ms, float(minute)), Reading("5A2D", "op2", at_ms, 0.5)]
        journal.commit(Change(readings=[*sent, Reading("5CB6", "op1", at_ms, 9.0)]), now_ms=at_ms)
    rows = [{"at": format_time(n * MINUTE_MS), "op1": float(n), "op2": 0.5} for n in range(5)]
    for asked, expected in (
        ({}, rows),
        ({"last": 2}, rows[3:]),
        ({"from": format_time(2 * MINUTE_MS)}, rows[2:]),
        ({"from": format_time(MINUTE_MS), "to": format_time(3 * MINUTE_MS)}, rows[1:3]),
    ):
        answers = desk.ask(what="readings", **asked)
        assert [answer["reading"] for answer in answers] == expected, asked


def test_readings_that_came_after_their_window_closed_are_there_too(desk: Desk, journal: Journal) -> None:
    journal.commit(Change(readings=[Reading("5A2D", "op1", 0, 1.0)]), now_ms=0)
    late = [Reading("5A2D", "op1", MINUTE_MS, 2.0), Reading("5A2D", "op2", 0, 3.0)]
    journal.commit(Change(late=late), now_ms=2 * WINDOW_MS)
    rows = [{"at": format_time(0), "op1": 1.0, "op2": 3.0}, {"at": format_time(MINUTE_MS), "op1": 2.0}]
    assert [answer["reading"] for answer in desk.ask(what="readings")] == rows
    assert [answer["reading"] for answer in desk.ask(what="readings", last=1)] == rows[1:]


def test_readings_that_came_before_the_clock_was_right_are_there_too(desk: Desk, journal: Journal) -> None:
    """A gateway without a battery clock boots with the time of its last shutdown, here two days ago."""
    first_ms, two_days_ms = 192 * WINDOW_MS, 192 * WINDOW_MS
    for minute in range(40):
        at_ms = first_ms + minute * MINUTE_MS
        arrived_ms = at_ms - two_days_ms if 10 <= minute < 30 else at_ms
        journal.commit(Change(readings=[Reading("5A2D", "op1", at_ms, float(minute))]), arrived_ms)
    answers = desk.ask(what="readings", **{"from": format_time(first_ms + 15 * MINUTE_MS)})
    assert [answer["reading"]["op1"] for answer in answers] == [float(minute) for minute in range(15, 40)]


def test_a_long_history_of_readings_is_looked_up_in_steps(desk: Desk, journal: Journal) -> None:
    """3000 batches: the first page, with more, and no step reads more than 100 batches."""
    for second in range(3_000):
        sent = [Reading("5A2D", "op1", second * 1_000, 1.0)]
        journal.commit(Change(readings=sent), now_ms=second * 1_000)
    asked = {"id": "a", "sensor": "5A2D", "what": "readings", "from": 0}
    desk.history.ask(json.dumps(asked).encode())
    steps = 0
    while not desk.heard:
        assert desk.history.answer()
        steps += 1
    assert steps >= 30
    desk.turn()
    wait_until(lambda: len(desk.heard) >= 1_000)
    assert (desk.heard[0]["of"], desk.heard[0]["more"]) == (1_000, True)
    later = desk.ask(what="readings", **{"from": 2_990, "to": 2_995})
    assert [answer["reading"]["at"] for answer in later] == [
        format_time(n * 1_000) for n in range(2_990, 2_995)
    ]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ({"sensor": "none"}, {"id": "a", "index": 0, "of": 0, "more": False, "estimate": None}),
        (
            {"sensor": "none", "what": "readings"},
            {"id": "a", "index": 0, "of": 0, "more": False, "reading": None},
        ),
        ({"last": 0}, {"id": "a", "error": "expected last from 1 to 1000"}),
    ],
)
def test_nothing_and_mistakes_are_answered_too(
    desk: Desk, asked: dict[str, Any], answer: dict[str, Any]
) -> None:
    assert desk.ask(**asked) == [answer]


def test_too_many_requests_are_told_to_wait(desk: Desk) -> None:
    for number in range(30):
        desk.history.ask(json.dumps({"id": f"r{number}", "sensor": "5A2D"}).encode())
    desk.turn()
    wait_until(lambda: len(desk.heard) >= 30)
    busy = [answer["error"] for answer in desk.heard if "error" in answer]
    assert busy == ["too many requests wait; ask again later"] * (30 - MAX_REQUESTS)


def test_a_journal_that_cannot_be_read_is_an_error_for_the_asker_only(tmp_path: Path, desk: Desk) -> None:
    for file in tmp_path.glob("journal.db*"):
        file.rename(tmp_path / f"away-{file.name}")
    assert desk.ask() == [{"id": "a", "error": "the journal cannot be read now; ask again later"}]
