"""docs/operations.md has every event, exit code and number of the code, and no other."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from edge_agent import commit, log, maintenance, publisher, terminal
from edge_agent.core import problems
from edge_agent.core.positions import Fix, decode_fix
from edge_agent.core.windows import MAX_TOTAL, Outcome
from edge_agent.settings import Settings

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "operations.md").read_text()
ON_ONE_LINE = " ".join(TEXT.split())


GPSPIPE = """
{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}
{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/pts/2","native":0,"bps":4800,"cycle":1.00}]}
{"class":"WATCH","enable":true,"json":true,"nmea":false,"raw":0,"scaled":false,"timing":false,"pps":false}
{"class":"TPV","device":"/dev/pts/2","mode":1}
{"class":"TPV","device":"/dev/pts/2","mode":2,"time":"2026-11-18T11:06:40.000Z","ept":0.005,
 "lat":52.516300000,"lon":13.377700000,"track":0.0000,"magtrack":4.0508,"magvar":4.1,"speed":0.051}
{"class":"SKY","device":"/dev/pts/2","xdop":0.9,"satellites":[]}
{"class":"TPV","device":"/dev/pts/2","mode":3,"time":"2026-11-18T11:06:41.000Z","lat":52.5163,"lon":13.3777}
"""


def first_column(heading: str) -> list[str]:
    table = TEXT.split(f"\n| {heading} |")[1].split("\n\n")[0]
    return [line.split("|")[1].strip().strip("`") for line in table.splitlines()[2:]]


def test_every_log_event_is_explained_and_no_other() -> None:
    """Events are the string literals of the form noun.past_participle, and reading.{outcome}."""
    events = {f"reading.{kind}" for kind in Outcome if kind not in ("accepted", "duplicate", "revising")}
    for file in (ROOT / "edge_agent").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and re.fullmatch(r"[a-z]+\.(?!db$|toml$)[a-z_]+", text):
                events.add(text)
    assert sorted(first_column("event")) == sorted(events)


def test_every_exit_code_is_explained() -> None:
    assert [int(code) for code in first_column("code")] == [
        terminal.DONE,
        terminal.FAILED,
        2,
        terminal.CONFIGURATION,
    ]


def test_every_problem_is_explained() -> None:
    assert first_column("problem") == list(problems.ADVICE)
    assert f"less than {problems.FREE_BYTES // 1_000_000} MB left" in ON_ONE_LINE
    assert f"more than {problems.WAITED_S // 60} minutes" in ON_ONE_LINE


def test_the_numbers_are_those_of_the_code() -> None:
    settings = Settings()
    windows, journal = settings.windows, settings.journal
    for words in (
        f"| `grace_s` | {windows.grace_s:g} |",
        f"| `patience_s` | {windows.patience_s:g} |",
        f"| `future_s` | {windows.future_s:g} |",
        f"after `keep_days` ({journal.keep_days:g})",
        f"Above `max_mb` ({journal.max_mb})",
        f"or after every {journal.commit_messages} messages (`commit_messages`)",
        f"At most {commit.MAX_HELD:,} readings wait".replace(",", " "),
        f"{publisher.IN_FLIGHT} in flight",
        f"{MAX_TOTAL:,} in all open windows".replace(",", " "),
    ):
        assert words in ON_ONE_LINE, words
    assert (journal.commit_ms, maintenance.LOOK_MS, log.EVERY_MS) == (60_000, 2_000, 10_000)


def test_the_recipe_for_gpsd_gives_positions() -> None:
    """Its jq program on what gpspipe -w printed of a track that gpsfake played."""
    jq = shutil.which("jq")
    if not jq:
        pytest.skip("jq is not installed")
    [program] = re.findall(r"jq --unbuffered -c '(.*?)'", TEXT, re.DOTALL)
    done = subprocess.run([jq, "-c", program], input=GPSPIPE, capture_output=True, text=True, check=True)
    fixes = [decode_fix(line.encode()) for line in done.stdout.splitlines()]
    assert fixes == [
        Fix(1_795_000_000_000, 52.5163, 13.3777, 0.051 * 3.6),
        Fix(1_795_000_001_000, 52.5163, 13.3777, None),
    ]


def test_every_file_it_names_is_there() -> None:
    for name in set(re.findall(r"deploy/[\w.-]+\w", TEXT)):
        assert (ROOT / name).is_file(), name
