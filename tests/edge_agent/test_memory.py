"""Memory that nobody uses goes back to the kernel."""

from edge_agent.health import resources
from edge_agent.memory import give_back


def test_the_holes_between_what_stays_go_back() -> None:
    """Python's own allocator takes blocks of up to 512 bytes, malloc the others."""
    blocks = [bytes(1_000) for _ in range(20_000)]
    kept = blocks[::100]
    del blocks
    before = resources()["rss_bytes"]
    give_back()
    assert before - resources()["rss_bytes"] > 10_000_000
    assert len(kept) == 200
