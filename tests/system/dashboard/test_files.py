"""What the page downloads, and what it loads."""

import csv
import gzip
from pathlib import Path

from deploy.demo.page import DASHBOARD
from tests.support.browser import Page
from tests.support.dashboard import npm, show
from tests.support.van import Van

LARGEST_BYTES = 300_000


def test_the_day_is_downloaded_as_csv_and_as_a_picture(page: Page, van: Van, tmp_path: Path) -> None:
    """All windows with the numbers as they were published, and a PNG of the chart."""
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    saved = page.download(".save-csv", tmp_path)
    with saved.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    fields = ("sensor", "value", "low", "high", "quality", "seq", "model")
    assert [[row[name] for name in fields] for row in rows] == [
        [str(window[name]) for name in fields] for window in van.past["5A2D"]
    ]
    picture = page.download(".save-png", tmp_path)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 5_000
    assert page.complaints() == []


def test_the_page_is_light_and_loads_nothing_else(page: Page, site: str, built: Path) -> None:
    """Under 300 kB compressed, all of it from where the page itself came from."""
    files = [path for path in built.rglob("*") if path.is_file()]
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in files) < LARGEST_BYTES
    loaded = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    elsewhere = [address for address in loaded if not address.startswith((site, "data:", "blob:"))]
    assert elsewhere == []


def test_the_lock_file_names_no_host() -> None:
    """Any registry, or a mirror of one, can serve what the lock file pins."""
    assert "://" not in (DASHBOARD / "package-lock.json").read_text()


def test_the_logic_of_the_page_holds(packages: None) -> None:
    """The page's own laws: decoders are total, the day is idempotent, the words are right."""
    npm("test")
