"""A built page, a browser, a broker with WebSockets and a van, for the tests of the dashboard."""

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.demo.page import DASHBOARD, alone, is_built, is_installed
from tests.support.browser import Chromium, Page
from tests.support.dashboard import QuietFiles, WebBroker, full_van, npm, serving
from tests.support.needs import require
from tests.support.van import Van


@pytest.fixture(scope="session")
def packages() -> None:
    """The page's packages as the lock file has them, installed once."""
    require("npm")
    with alone():
        if not is_installed():
            npm("ci")


@pytest.fixture(scope="session")
def built(packages: None) -> Path:
    """The built page, which test workers and demos share."""
    with alone():
        if not is_built():
            npm("run", "build")
    return DASHBOARD / "dist"


@pytest.fixture(scope="session")
def site(built: Path) -> Iterator[str]:
    """The address of the built page, served as any static web server would."""
    with serving(functools.partial(QuietFiles, directory=str(built))) as address:
        yield address


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    require("chromium")
    with Chromium(profile=tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def chromium(browser: Chromium) -> Iterator[Chromium]:
    """The worker's browser; the tabs of a test are closed after it."""
    yield browser
    browser.close_tabs()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[WebBroker]:
    running = WebBroker(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def van(broker: WebBroker) -> Iterator[Van]:
    running = full_van(broker.port)
    yield running
    running.leave()


@pytest.fixture
def page(chromium: Chromium, site: str, broker: WebBroker, van: Van) -> Page:
    """The overview on a phone, connected."""
    opened = chromium.open(f"{site}?broker={broker.websocket}", width=390, height=844)
    opened.wait_for_text("Live", ".link")
    return opened
