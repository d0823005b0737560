"""The trainer that turns co-located recordings into bundles; docs/api.md shows it as a library."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from model_export.bundle import Bundle as Bundle  # noqa: I001 - ruff would write one statement a name
    from model_export.calibration.estimator import RespireRegressor as RespireRegressor
    from model_export.calibration.fit import Recipe as Recipe
    from model_export.library import (
        Adapted as Adapted,
        Evaluation as Evaluation,
        Fit as Fit,
        Transferred as Transferred,
        adapt as adapt,
        diagnose as diagnose,
        evaluate as evaluate,
        fit as fit,
        load_bundle as load_bundle,
        load_recording as load_recording,
        transfer as transfer,
    )
    from model_export.recordings.mending import Mending as Mending
    from model_export.recordings.recording import Recording as Recording
    from model_export.recordings.shape import Shape as Shape

_HOMES = {
    "model_export.bundle": ("Bundle",),
    "model_export.library": (
        *("Adapted", "Evaluation", "Fit", "Transferred", "adapt", "diagnose", "evaluate", "fit"),
        *("load_bundle", "load_recording", "transfer"),
    ),
    "model_export.calibration.fit": ("Recipe",),
    "model_export.recordings.mending": ("Mending",),
    "model_export.recordings.recording": ("Recording",),
    "model_export.recordings.shape": ("Shape",),
    "model_export.calibration.estimator": ("RespireRegressor",),
}


def __getattr__(name: str) -> Any:
    """Imported when asked for: `model-export --help` need not wait for pandas."""
    from importlib import import_module  # noqa: PLC0415

    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The names of the library."""
    return sorted(name for names in _HOMES.values() for name in names)
