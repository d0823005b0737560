"""`model-export adapt --from-journal`: a bundle adapted to what a van has measured beside a reference."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from edge_agent.core import bundle as bundles
from edge_agent.core.card import valid_until
from model_export.calibration import export
from model_export.calibration.adapt import Adapting, adapt
from model_export.calibration.fit import evaluate
from model_export.cli.console import CommandResult, adapt_sentence
from model_export.doctor import agreement, words
from model_export.doctor.examination import judged, warnings
from model_export.files import require_places, write_atomically
from model_export.recordings.dataset import split
from model_export.recordings.journal import load_journal
from model_export.regression.metrics import Score

PLACE = "journal"  # of findings: the journal does not name the site


def adapt_from_journal(
    bundle: Path, journal: Path, out: Path, *, how: Adapting, test_share: float, unit: str | None
) -> CommandResult:
    """A gain and an offset from the van's own windows, evaluated on the last of them."""
    require_places(bundle=out, inputs=[bundle])
    model = export.read(bundle)
    dataset = load_journal(journal, model, unit)
    part, test = split(dataset, test_share)
    moved = export.renewed(adapt(model, part, how), part)
    data = bundles.encode(replace(moved, provenance={**moved.provenance, "adapted_on": dataset.name}))
    moved = bundles.decode(data, out.name)
    before, after = evaluate(model, test), evaluate(moved, test)
    level = moved.interval.level if moved.interval else None
    found = list(agreement.check(model.sensor, PLACE, after, level))
    write_atomically(out, data)
    figures: dict[str, Any] = {
        "sensor": model.sensor,
        "unit": model.unit,
        "n_train": len(part),
        "n_test": len(test),
        "gain": moved.adapter[0],
        "offset": moved.adapter[1],
        "before": _figures(before),
        "after": _figures(after),
        "dropped": dict(dataset.dropped_windows),
        "valid_until": valid_until(moved),
        "bytes": len(data),
        "bundle": str(out),
        "id": moved.id,
    }
    sentence = adapt_sentence(figures, export.Exported(out, moved, len(data)), words.verdict(found))
    return CommandResult(figures | judged(found), tuple(warnings(found)), sentence)


def _figures(score: Score) -> dict[str, float]:
    return {"r2": score.r2, "rmse": score.rmse, "bias": score.bias, "coverage": score.coverage}
