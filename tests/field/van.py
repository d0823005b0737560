"""One gateway of the test: its machine, its agent, the time it gets and the bundle it serves."""

from dataclasses import dataclass
from pathlib import Path

from tests.field.gateway import Gateway
from tests.field.machine import Machine
from tests.field.ntp import Ntp


@dataclass(frozen=True, slots=True)
class Van:
    """What every promise is tried on."""

    machine: Machine
    gateway: Gateway
    ntp: Ntp
    bundle: Path

    def synchronise(self) -> None:
        """Wait until the clock is synchronised."""
        self.machine.run("systemctl restart systemd-timesyncd")
        question = "timedatectl show -p NTPSynchronized --value"
        self.machine.wait(lambda: self.machine.run(question) == "yes", "a synchronised clock")
