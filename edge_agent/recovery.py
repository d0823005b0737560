"""A journal that is damaged: set aside with its evidence, and another begun that goes on with its numbers."""

from pathlib import Path

from edge_agent.core.errors import JournalCorrupt
from edge_agent.journal import FILE, Journal, salvage


def open_journal(
    directory: Path, window_ms: int, durability: str, now_ms: int
) -> tuple[Journal, Path | None]:
    """The journal of a state directory; a damaged one is set aside and a new one begun."""
    try:
        return Journal(directory / FILE, window_ms, durability), None
    except JournalCorrupt:
        aside = begin_anew(directory, now_ms)
        return Journal(directory / FILE, window_ms, durability), aside


def begin_anew(directory: Path, now_ms: int) -> Path:
    """Set a damaged journal aside and begin another that goes on with its sequence numbers."""
    path = directory / FILE
    aside = _set_aside(path, now_ms)
    Journal(path, window_ms=0, sensors=salvage(aside)).close()
    return aside


def _set_aside(path: Path, now_ms: int) -> Path:
    """Rename a damaged journal and its log files, so that somebody can look at them."""
    aside = path.with_name(f"{path.name}.corrupt-{now_ms}")
    for suffix in ("", "-wal", "-shm"):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.rename(aside.with_name(aside.name + suffix))
    return aside
