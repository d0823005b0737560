"""`edge-agent replay`: a recording through the agent's pipeline, with the settings of an agent if wanted."""

import sys
from collections import Counter
from pathlib import Path

from edge_agent import bundles, recording
from edge_agent.core.errors import BadBundle, BadReading, BadRecording
from edge_agent.core.messages import UNSTAMPED, encode_estimate
from edge_agent.core.model import Model
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.positions import Fix, decode_fix
from edge_agent.core.windows import Outcome, Windows
from edge_agent.terminal import DONE, load_settings, say


def replay(model: Model, file: Path, grace_s: int, config: Path | None, fixes: Path | None) -> int:
    """Print one estimate per window as JSON lines; `config` and `fixes` as an agent had them."""
    channels = (*model.measured, model.auxiliary)
    windows = Windows(length_ms=model.window_ms, grace_ms=grace_s * 1000)
    made = (
        _pipeline(config, fixes, windows, model)
        if config
        else Pipeline(windows, {model.sensor: model}, "replay")
    )
    closed, outcomes = 0, Counter[Outcome]()
    for estimate in made.replay(recording.read(file, model.sensor, channels, needed=channels), outcomes):
        sys.stdout.write(encode_estimate(estimate).decode() + "\n")
        closed += 1
    sys.stdout.flush()
    counts = ", ".join(f"{outcomes[kind]} {kind.replace('_', ' ')}" for kind in Outcome if outcomes[kind])
    say(f"replay: {closed} windows from {counts or 'no'} readings")
    if outcomes[Outcome.TOO_LATE]:
        say("replay: readings that are too late are in no window; sort the rows by time")
    return DONE


def model_of(sensor: str, path: Path) -> Model:
    """The model of a sensor, in a directory of bundles or in one bundle."""
    models = bundles.Bundles(path).models
    if sensor not in models:
        found = ", ".join(models) or "none"
        raise BadBundle(
            f"{path}: expected a bundle for sensor {sensor}, got {found}; "
            f"make one with: model-export fit --sensor {sensor} --out {sensor}.bundle …"
        )
    return models[sensor]


def _pipeline(config: Path, fixes: Path | None, windows: Windows, model: Model) -> Pipeline:
    """The agent's pipeline with one model; `fixes` are positions, as `export --what fixes` writes them."""
    from edge_agent.locator import Locator  # noqa: PLC0415 - pydantic takes 0.2 s

    settings = load_settings(config)
    track = read_fixes(fixes) if fixes else []
    locator = Locator(settings, most=len(track))
    locator.restore(track)
    place = locator.positions.place if locator.known else None
    models, coverage = {model.sensor: model}, settings.windows.coverage
    return Pipeline(windows, models, settings.agent, coverage, place, settings.estimates.unit)


def read_fixes(path: Path) -> list[Fix]:
    """The fixes of a file, one JSON map a line."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise BadRecording(f"{path}: {error.strerror}; expected a file of fixes") from error
    fixes = []
    for number, line in enumerate(lines, 1):
        try:
            fixes.append(decode_fix(line))
        except BadReading as error:
            raise BadRecording(f"{path}:{number}: {error}; correct or remove the line") from error
        if fixes[-1].at_ms == UNSTAMPED:
            raise BadRecording(f"{path}:{number}: expected at; correct or remove the line")
    return fixes
