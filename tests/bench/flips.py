"""`python -m tests.bench.flips [COUNT [AGENTS]]`: a flipped bit or a cut in the journal's files, many times.

COUNT damaged journals are opened, rebuilt and read in this process, AGENTS by a real agent at a broker: half
of an agent that was stopped, half of one that was killed. Then a quarter as many of an agent whose power was
cut before the index of the log was on disk, where a lost end of the log cannot always be told from the cut.
What is counted: starts that fail or take 10 s, changes without an event, and wrong numbers under an old seq.
"""

import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from edge_agent.archive import Archive
from edge_agent.change import Change, Outgoing
from edge_agent.closed_windows import ClosedWindows
from edge_agent.core import bundle
from edge_agent.core.messages import Estimate, Reading, decode_estimate
from edge_agent.core.positions import Fix
from edge_agent.journal import Journal
from edge_agent.state import open_journal
from tests.bench.table import row
from tests.conftest import make_model
from tests.support.agents import Collector
from tests.support.broker import AgentProcess, Mosquitto, client, wait_until

WINDOW_MS = 900_000
START_MS = 1_706_778_000_000
SENSORS = ("5A2D", "5CB6", "D3EB")
LIMIT_S = 10.0
OUTBOX = 6  # estimates that wait in the journal, at least

Numbers = dict[tuple[str, int], bytes]  # sensor, seq -> the payload that was published


def main(arguments: list[str]) -> None:
    """Print each figure beside its bound."""
    count = int(arguments[0]) if arguments else 500
    agents = int(arguments[1]) if len(arguments) > 1 else 30
    with tempfile.TemporaryDirectory() as place:
        for states, most in ((("stopped", "killed"), count // 2), (("cut",), count // 4)):
            found, slowest_s = _in_process(Path(place), states, most)
            _print(f"journals opened in this process, {' and '.join(states)}, {most} each", found, slowest_s)
        if agents:
            found, slowest_s = _with_agents(Path(place), agents)
            _print(f"agents started, {agents}", found, slowest_s)


def _print(title: str, found: Counter[str], slowest_s: float) -> None:
    print(f"{title}: {dict(sorted(found.items()))}", flush=True)
    row("slowest start", slowest_s, "s", at_most=LIMIT_S)
    row("starts that failed", found["failed"], "", at_most=0)
    row("wrong numbers under an old seq", found["wrong"], "", at_most=0)
    if title.startswith("agents"):
        return
    row("changes without an event", found["silent"], "", at_most=0)
    allowed = None if "cut" in title else 0
    row("the same, where the end of the log is lost", found["log end"], "", at_most=allowed)


def _in_process(place: Path, states: tuple[str, ...], most: int) -> tuple[Counter[str], float]:
    chance, found, slowest_s = random.Random(17), Counter[str](), 0.0
    for state in states:
        source = place / state
        numbers = _make(source, state)
        sound = _look(source, place / "sound")[0]
        for _ in range(most):
            target = place / "damaged"
            _copy(source, target)
            what = _damage(target, chance)
            began_s = time.monotonic()
            found.update(_judge(target, sound, numbers, what))
            slowest_s = max(slowest_s, time.monotonic() - began_s)
    return found, slowest_s


def _make(directory: Path, state: str) -> Numbers:
    """A day of three sensors, in the file and, unless the agent was stopped, in its log."""
    work = directory.with_name("work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    chance = random.Random(1)
    with closing(Journal(work / "journal.db", WINDOW_MS, "process-crash")) as journal:
        made: list[Outgoing] = []
        for minute in range(600):
            at_ms = START_MS + minute * 60_000
            readings = [
                Reading(sensor, "op1", at_ms + second, chance.gauss(231, 2))
                for sensor in SENSORS
                for second in (0, 20_000, 40_000)
            ]
            estimates = [
                _estimate(sensor, minute // 15 - 1) for sensor in SENSORS if minute % 15 == 1 < minute
            ]
            change = Change(readings, boot="other", estimates=estimates, facts={"health": "{}"})
            change.delivered = [each.id for each in made[-9:-6]]
            change.held = [Reading("5A2D", "op2", at_ms, 206.0)] if minute % 100 == 0 else []
            change.late = [Reading("5CB6", "op1", at_ms - 1_800_000, 230.0)] if minute % 40 == 30 else []
            change.fixes = [Fix(at_ms, 52.5, 13.4 + minute / 1e4, 3.0)] if minute % 5 == 0 else []
            made += journal.commit(change, at_ms)
        if state != "stopped":
            _copy(work, directory)
    if state == "stopped":
        _copy(work, directory)
    elif state == "cut":
        (directory / "journal.db-shm").unlink()
    return {(each.sensor, decode_estimate(each.payload).seq): each.payload for each in made}


def _estimate(sensor: str, window: int) -> Estimate:
    start_ms = START_MS + window * WINDOW_MS
    inputs, minutes = {"op1": 231.0 + window, "temperature": 24.5}, {"op1": 15, "temperature": 15}
    return Estimate(sensor, start_ms, start_ms + WINDOW_MS, 1, (), inputs, minutes, value=0.5 + window / 100)


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def _damage(directory: Path, chance: random.Random) -> str:
    """One bit of one byte, or in one of ten cases an end that is missing; every byte is as likely."""
    files = sorted(path for path in directory.iterdir() if path.stat().st_size)
    [file] = chance.choices(files, [path.stat().st_size for path in files])
    if chance.random() < 0.1:
        content = bytearray(file.read_bytes()[: chance.randrange(file.stat().st_size)])
        what = "cut"
    else:
        content, what = bytearray(file.read_bytes()), "flip"
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)
    return f"{what} of {file.name}"


def _look(source: Path, target: Path) -> tuple[dict[str, Any], list[str]]:
    """Everything an agent reads from a journal, and what it would log."""
    if source != target:
        _copy(source, target)
    journal, aside, reason = open_journal(target, WINDOW_MS, "process-crash", now_ms=START_MS, again_s=0)
    with closing(journal):
        seen = {
            "batches": list(journal.rebuild()),
            "waiting": journal.outbox.waiting(0, 10_000),
            "history": {sensor: journal.outbox.last(sensor, 1_000) for sensor in SENSORS},
            "means": {sensor: journal.means(sensor, "temperature", 0) for sensor in SENSORS},
            "newest": journal.outbox.newest(),
            "closed_until": journal.closed_until(),
            "dropped": journal.dropped,
            "held": journal.held("other"),
            "fixes": journal.fixes(),
            "late": list(journal.closed_windows.waiting()),
            "revisable": {sensor: _revisable(journal.closed_windows, sensor) for sensor in SENSORS},
        }
        made = journal.commit(Change(estimates=[_estimate(sensor, 50) for sensor in SENSORS]), START_MS)
        seen["next"] = {each.sensor: decode_estimate(each.payload).seq for each in made}
        events = [*([reason] if aside else []), *journal.damage]
    with closing(Archive(target)) as archive:
        exported = list(archive.batches())
    seen["exported"] = {reading for batch in exported if batch for reading in batch}
    return seen, [*events, *("export: a damaged row" for each in exported if each is None)]


def _revisable(windows: ClosedWindows, sensor: str) -> list[tuple[int, list[list[Reading] | None]]]:
    """What a revision of each window would start from."""
    closed = windows.between(sensor, 0, 1 << 60)
    return [(each.start_ms, list(windows.in_time(sensor, each))) for each in closed]


def _judge(target: Path, sound: dict[str, Any], numbers: Numbers, what: str) -> Iterator[str]:
    try:
        seen, events = _look(target, target)
    except Exception as error:
        print(f"{what}: {type(error).__name__}: {error}", flush=True)
        yield "failed"
        return
    payloads = [each.payload for each in (*seen["waiting"], *seen["newest"])]
    payloads += [payload for history in seen["history"].values() for payload in history]
    old = any(seq <= max(s for name, s in numbers if name == sensor) for sensor, seq in seen["next"].items())
    wrong = not {*payloads} <= {*numbers.values()} or not seen["exported"] <= sound["exported"]
    if old or wrong:
        print(f"{what}: a wrong number, next {seen['next']}", flush=True)
        yield "wrong"
    changed = seen != sound
    yield f"{what}: {'changed' if changed else 'nothing changed'}, {'event' if events else 'no event'}"
    if changed and not events:
        yield "log end" if what.endswith("-wal") and _is_older(seen, sound) else "silent"


def _is_older(seen: dict[str, Any], sound: dict[str, Any]) -> bool:
    """Whether a journal is as it was a few commits before, with every number."""
    batches = seen["batches"]
    return bool(seen["next"] == sound["next"] and batches == sound["batches"][: len(batches)])


def _with_agents(place: Path, count: int) -> tuple[Counter[str], float]:
    chance, found, slowest_s = random.Random(18), Counter[str](), 0.0
    bundles = place / "bundles"
    bundles.mkdir()
    for sensor in SENSORS:
        (bundles / f"{sensor}.bundle").write_bytes(bundle.encode(make_model(sensor)))
    numbers = _make(place / "agents", "killed")
    for trial in range(count):
        with _broker(place / f"broker-{trial}") as broker:
            agent = AgentProcess(place / f"agent-{trial}", broker.port, bundles)
            _copy(place / "agents", agent.state)
            what = _damage(agent.state, chance)
            service_s, sent = _start(agent, broker)
        slowest_s = max(slowest_s, service_s)
        events = agent.events("journal.set_aside") + agent.events("journal.damaged")
        found[f"{what}: {'event' if events else 'no event'}"] += 1
        found["failed"] += service_s >= LIMIT_S
        found["wrong"] += not sent <= {*numbers.values()}
    return found, slowest_s


def _start(agent: AgentProcess, broker: Mosquitto) -> tuple[float, set[bytes]]:
    """How long until the agent served, and the estimates that it sent from its outbox."""
    with client(broker) as consumer:
        collector, began_s = Collector(consumer), time.monotonic()
        agent.start()
        with suppress(TimeoutError):
            agent.wait_for("broker.connected", timeout_s=LIMIT_S)
        service_s = time.monotonic() - began_s
        with suppress(TimeoutError):  # of a damaged outbox some are missing
            wait_until(lambda: len(collector.payloads) >= OUTBOX, 2)
        if agent.stop() != 0:
            service_s = LIMIT_S
    return service_s, {payload for versions in collector.payloads.values() for payload in versions}


@contextmanager
def _broker(place: Path) -> Iterator[Mosquitto]:
    broker = Mosquitto(place)
    try:
        yield broker
    finally:
        broker.remove()


if __name__ == "__main__":
    main(sys.argv[1:])
