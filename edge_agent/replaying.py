"""`edge-agent replay --config`: a recording as the agent of these settings would have seen it."""

from pathlib import Path

from edge_agent.core.errors import BadReading, BadRecording
from edge_agent.core.messages import UNSTAMPED
from edge_agent.core.model import Model
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.positions import Fix, decode_fix
from edge_agent.core.windows import Windows
from edge_agent.locator import Locator
from edge_agent.terminal import load_settings


def pipeline(config: Path, fixes: Path | None, windows: Windows, model: Model) -> Pipeline:
    """The agent's pipeline with one model; `fixes` are positions, as `export --what fixes` writes them."""
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
