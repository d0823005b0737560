"""The page about what has changed."""

from model_export.archive.changes import MOST, page


def test_a_page_has_as_many_rows_as_a_browser_can_show() -> None:
    """Those that have changed most; the table beside the page has all."""
    fact = {
        "month": "2024-02",
        "from": "2024-02-01",
        "to": "2024-02-29",
        "unit": "ppm",
        "model": "sha256:1",
        **dict.fromkeys(("windows", "known", "changed", "with_value", "had_value"), 1),
        "mean_before": 1.0,
        "change_p5": 0.1,
        "change_p95": 0.2,
        "superseded_models": [],
    }
    facts = [{**fact, "sensor": f"S{n:04}", "mean_after": 1.0 + n} for n in range(MOST + 2)]
    skipped = [{"name": f"N{n:04} in 2024-02", "reason": "no bundle"} for n in range(MOST + 2)]
    made = page(facts, skipped)
    assert ("S0001<" in made, "S0002<" in made) == (False, True)
    assert ("N0999 in" in made, "N1000 in" in made) == (True, False)
    assert "Of 1,002 sensors the 1,000 with the largest change are shown." in made
    assert "The first 1,000 of 1,002." in made
