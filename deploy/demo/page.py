"""The dashboard: built with npm if it is older than its sources, and served on loopback."""

import contextlib
import fcntl
import functools
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from deploy.demo.parts import ROOT, child, say, tail
from deploy.demo.processes import HOST

DASHBOARD = ROOT / "deploy" / "dashboard"


@contextlib.contextmanager
def dashboard(ws: int) -> Iterator[str]:
    """Serve the page on a free port; yield its address."""
    handler = functools.partial(Quiet, directory=str(DASHBOARD / "dist"))
    with http.server.ThreadingHTTPServer((HOST, 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}/?broker=ws://{HOST}:{ws}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that does not log its requests."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def building(place: Path) -> Iterator[Callable[[], bool]]:
    """Build the page in the background if needed; yield a function that waits and returns whether it exists.

    A second demo waits for the build of the first. Without npm the demo runs without a page.
    """
    npm, log = shutil.which("npm"), place / "npm.log"
    with alone():
        if npm and not is_built():
            say.print("building the dashboard meanwhile")
            install = "" if is_installed() else f"{npm} ci --no-audit --no-fund && "
            steps = f"{install}exec {npm} run build"
            with child(log, "sh", "-c", steps, directory=DASHBOARD) as process:
                yield lambda: process.wait() == 0 or no_page(tail(log))
                return
    yield lambda: is_built() or no_page("npm is not installed; the rest runs")


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Only one process installs or builds at a time."""
    with (DASHBOARD / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_installed() -> bool:
    """Whether the packages are those of the lock file."""
    lock, installed = DASHBOARD / "package-lock.json", DASHBOARD / "node_modules" / ".package-lock.json"
    return installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime


def is_built() -> bool:
    """Whether the page is newer than its sources."""
    page = DASHBOARD / "dist" / "index.html"
    sources = [*(DASHBOARD / "src").rglob("*"), *DASHBOARD.glob("*.*")]
    return page.exists() and page.stat().st_mtime > max(source.stat().st_mtime for source in sources)


def no_page(reason: str) -> bool:
    say.print(f"no dashboard: {reason}", markup=False)
    return False
