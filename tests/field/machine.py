"""A gateway in software: one processor, a disk, ssh; killing it is a power cut."""

import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import gettempdir

from deploy.demo.processes import free_port

BOOT_S = 900.0
HOST = "10.0.2.2"  # this machine's loopback, seen from the guest; it has no other network


class Failed(Exception):
    """A command in the guest failed, or something did not happen in time."""


class Machine:
    """The machine of image.sh; `disk` is an image file, or the address of a VolatileDisk."""

    def __init__(self, image: Path, disk: str, work: Path) -> None:
        self._image, self._disk, self._work = image, disk, work
        self._port = free_port()
        self._qemu: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The emulator's process."""
        assert self._qemu
        return self._qemu.pid

    def start(self, *options: str, without: Sequence[str] = ()) -> None:
        """Power on, without some units. -cpu max: numpy's wheels want more than qemu's default processor."""
        masked = "".join(f" systemd.mask={unit}" for unit in without)
        command = [
            *("qemu-system-x86_64", "-M", "q35", "-accel", "tcg", "-cpu", "max"),
            *("-smp", "1", "-m", "768", "-nodefaults", "-display", "none"),
            *("-kernel", str(self._image / "vmlinuz"), "-initrd", str(self._image / "initrd")),
            *("-append", "root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off quiet" + masked),
            *("-drive", f"file={self._disk},if=virtio,format=raw,cache=none"),
            *("-netdev", f"user,id=n,hostfwd=tcp:127.0.0.1:{self._port}-:22"),
            *("-device", "virtio-net-pci,netdev=n,romfile=", "-device", "virtio-rng-pci"),
            *("-chardev", f"file,id=c,path={self._work / 'console'},append=on", "-serial", "chardev:c"),
            *options,
        ]
        with (self._work / "qemu.log").open("ab") as log:
            self._qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def boot(self, *options: str) -> float:
        """Power on and wait for ssh; the seconds it took."""
        began = time.monotonic()
        self.start(*options)
        self.wait(lambda: self._ssh("true").returncode == 0, "ssh", BOOT_S)
        return time.monotonic() - began

    def cut(self) -> None:
        """Cut the power: the emulator keeps nothing back."""
        if self._qemu:
            self._qemu.kill()
            self._qemu.wait()
            self._qemu = None

    def gone(self) -> None:
        """Wait until the machine is off, however that came."""
        if self._qemu:
            self._qemu.wait(BOOT_S)
            self._qemu = None

    def power_off(self) -> None:
        """Shut down in order."""
        self._ssh("systemctl poweroff")
        self.gone()

    def run(self, command: str, timeout_s: float = 300) -> str:
        """What a command prints; it must succeed."""
        done = self._ssh(command, timeout_s=timeout_s)
        if done.returncode:
            raise Failed(f"{command}: exit {done.returncode}: {(done.stdout + done.stderr).strip()[-600:]}")
        return done.stdout.strip()

    def code(self, command: str) -> tuple[int, str]:
        """Exit code and everything a command prints."""
        done = self._ssh(command)
        return done.returncode, (done.stdout + done.stderr).strip()

    def put(self, file: Path | str | bytes, place: str) -> None:
        """Copy a file, or this content, into the guest."""
        content = file.read_bytes() if isinstance(file, Path) else file
        content = content.encode() if isinstance(content, str) else content
        done = self._ssh(f"cat > {shlex.quote(place)}", content)
        if done.returncode:
            raise Failed(f"{place}: {done.stderr}")

    def wait(self, condition: Callable[[], object], what: str, seconds: float = 300) -> None:
        """Ask until it is so."""
        until = time.monotonic() + seconds
        while not condition():
            if self._qemu and self._qemu.poll() is not None:
                raise Failed(f"{what}: the machine went off")
            if time.monotonic() > until:
                raise Failed(f"{what}: not within {seconds:.0f} s")
            time.sleep(0.3)

    def _ssh(
        self, command: str, content: bytes | None = None, timeout_s: float = 300
    ) -> subprocess.CompletedProcess[str]:
        options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "ConnectTimeout=10"]
        options += [
            "ServerAliveInterval=5",  # a machine that reboots leaves the connection open
            "ServerAliveCountMax=12",
            "ControlMaster=auto",
            f"ControlPath={gettempdir()}/field-ssh-{self._port}",
            "ControlPersist=600",
        ]
        arguments = ["ssh", "-q", "-i", str(self._image / "key"), "-p", str(self._port)]
        for option in options:
            arguments += ["-o", option]
        done = subprocess.run(
            [*arguments, "root@127.0.0.1", command],
            input=content or b"",
            capture_output=True,
            check=False,
            timeout=timeout_s,
        )
        text = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        return subprocess.CompletedProcess(done.args, done.returncode, *text)
