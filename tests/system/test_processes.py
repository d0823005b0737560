"""Every process that a test starts ends with the test, however the test or the run ends."""

import os
import signal
import socket
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from deploy.demo.processes import HOST, free_port, listening
from tests.support.broker import wait_until
from tests.support.processes import run_program, start

ROOT = Path(__file__).parents[2]
STARTS_TWO = textwrap.dedent(
    """
    import os, time
    from pathlib import Path
    from tests.support.processes import start

    def test_it() -> None:
        child = start(["sh", "-c", "sleep 1000 & echo $! > {folder}/grandchild; wait"])
        while not (Path("{folder}/grandchild").exists() and Path("{folder}/grandchild").read_text().strip()):
            time.sleep(0.01)
        Path("{folder}/child").write_text(str(child.pid))
        {then}
    """
)


def pytest_command(folder: Path, then: str, *options: str) -> list[str]:
    """Run the test above alone, with this project's conftest.

    Not in the project's own folder, where `make check` beside it would find the file.
    """
    file = folder / "test_scratch.py"
    file.write_text(STARTS_TWO.format(folder=folder, then=then))
    plugins = ("-p", "no:cacheprovider", "-p", "tests.conftest")
    settings = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT))
    return [sys.executable, "-m", "pytest", "-q", *plugins, *settings, str(file), *options]


def alive(folder: Path) -> list[str]:
    """Which of the two processes still run."""
    found = []
    for name in ("child", "grandchild"):
        pid = (folder / name).read_text().strip()
        with suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            found += [name] if state != "Z" else []
    return found


@pytest.mark.parametrize("then", ["assert False", "raise KeyboardInterrupt", "pass"])
def test_a_test_leaves_no_process_whatever_becomes_of_it(tmp_path: Path, then: str) -> None:
    """Children and their children, of a test that fails, is interrupted or forgets them."""
    done = run_program(pytest_command(tmp_path, then), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == {"pass": 0, "assert False": 1, "raise KeyboardInterrupt": 2}[then], done.stdout
    assert alive(tmp_path) == []


@pytest.mark.parametrize("workers", ["0", "1"])
def test_children_end_when_pytest_is_killed(tmp_path: Path, workers: str) -> None:
    """After SIGKILL the kernel signals the children; a worker ends with its controller."""
    run = start(pytest_command(tmp_path, "time.sleep(1000)", "-n", workers), cwd=ROOT)
    wait_until((tmp_path / "child").exists, what="the test")
    assert alive(tmp_path) == ["child", "grandchild"]
    os.kill(run.pid, signal.SIGKILL)
    wait_until(lambda: "child" not in alive(tmp_path), what="the child gone")
    (pid,) = (tmp_path / "grandchild").read_text().split()
    with suppress(ProcessLookupError):
        os.kill(int(pid), signal.SIGKILL)


def test_a_child_hears_signals_that_its_parents_ignore(tmp_path: Path) -> None:
    """As behind `nohup … &`: SIGINT and SIGHUP are ignored by everything the shell starts."""
    script = f"""trap '' INT HUP; exec {sys.executable} -c '
from tests.support.processes import start
import signal
import socket
child = start(["sleep", "1000"])
while b"sleep" not in open(f"/proc/{{child.pid}}/cmdline", "rb").read()[:5]: pass
child.send_signal(signal.SIGINT)
raise SystemExit(0 if child.wait(120) == -signal.SIGINT else 1)'"""
    assert run_program(["sh", "-c", script], cwd=ROOT).returncode == 0


def test_a_port_is_given_to_one_process_only() -> None:
    """No client and no other server gets it; the server that it is for can listen on it again and again."""
    port = free_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((HOST, port))
    for _ in range(2):
        assert not listening(port)
        with socket.create_server((HOST, port)):
            assert listening(port)
