"""What docs/operations.md promises, on a machine: each check is a promise, and they run in this order."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import TimeoutExpired

from tests.field import changes, installing, troubles, using
from tests.field.gateway import Gateway
from tests.field.machine import Failed, Machine
from tests.field.ntp import Ntp
from tests.field.report import say
from tests.field.van import Van

Promise = Callable[[Van], str]

PROMISES: tuple[Promise, ...] = (
    *(installing.boots, installing.installs, installing.is_configured),
    *(installing.is_active_by_notify, installing.is_barely_exposed),
    installing.reaches_only_allowed_addresses,
    *(using.estimates, using.answers_an_ordinary_user, troubles.is_ready_without_a_broker),
    *(troubles.survives_kill_9, troubles.is_restarted_by_the_watchdog, troubles.survives_no_memory),
    *(using.waits_after_exit_78, using.reloads_a_bundle, using.stops_in_order),
    *(troubles.survives_a_full_disk, changes.moves_its_state, changes.upgrades_under_load),
    *(changes.survives_a_reboot, changes.waits_for_the_clock, changes.is_purged),
)
NAMES = tuple(promise.__name__ for promise in PROMISES)


def run(image: Path, disk: Path, work: Path, bundle: Path, names: Sequence[str] = ()) -> bool:
    """Whether every promise was kept, or every named one, on a disk that is installed.

    A broken promise does not stop the others.
    """
    machine = Machine(image, str(disk), work)
    van = Van(machine, Gateway(machine), Ntp(), bundle)
    chosen = [each for each in PROMISES if each.__name__ in names] or PROMISES
    if names and installing.boots not in chosen:
        chosen = [installing.boots, *chosen]
    try:
        holds = [_holds(promise, van) for promise in chosen]
        return all(holds)
    finally:
        machine.cut()


def _holds(promise: Promise, van: Van) -> bool:
    name, began = promise.__name__.replace("_", " "), time.monotonic()
    try:
        figure = promise(van)
    except (Failed, AssertionError, TimeoutExpired) as error:
        say(f"FAIL {name}: {error} ({time.monotonic() - began:.0f} s)")
        return False
    say(f"ok   {name}: {figure} ({time.monotonic() - began:.0f} s)")
    return True
