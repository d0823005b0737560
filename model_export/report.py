"""One self-contained page about one calibration, for a browser, a phone or an e-mail."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from matplotlib.figure import Figure

from model_export import plots
from model_export.metrics import evaluate, r2
from model_export.size_curve import SizePoint
from model_export.training import Training


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, and what it shows in words."""

    figure: Figure
    caption: str


Curves = Mapping[str, Sequence[SizePoint]]


def page(training: Training, curves: Curves, summary: Mapping[str, Any]) -> str:
    """The page as HTML, with every plot inside it."""
    model = training.exported.model
    return _PAGE.format(
        title=escape(f"Calibration of {model.sensor} ({model.gas}, {model.unit})"),
        style=_STYLE,
        tiles="".join(_tile(name, value) for name, value in _headline(summary)),
        pictures="".join(_picture(picture) for picture in pictures(training, curves)),
        table="".join(_row(name, value) for name, value in _flat(summary)),
        notes="".join(f"<li>{escape(note)}</li>" for note in training.dataset.notes),
    )


def pictures(training: Training, curves: Curves) -> list[Picture]:
    """The plots in the order of the questions: does it follow, how far off, where, why, how small."""
    model, dataset, n_train = training.exported.model, training.dataset, len(training.train)
    fitted = training.calibration.fitted
    judged, where = (training.test, "test") if len(training.test) else (training.train, "train")
    score, size = evaluate(model, judged), len(model.support)
    full = r2(training.train.target, fitted.predict(training.train.inputs, training.train.auxiliary))
    follows = f"Over time: R² {score.r2:.3f} ({where})"
    error = f"Against the reference: RMSE {score.rmse:.3g} {model.unit} ({where})"
    smaller = f"Compression: {size} of {n_train} support vectors"
    bias = f"Error over temperature: bias {score.bias:+.2g} {model.unit} ({where})"
    return [
        Picture(
            plots.timeline(model, dataset, n_train, fitted.outliers, follows),
            "Estimate and reference over time. The shaded part was kept apart for the test; crosses are "
            "train windows that the fit took for outliers.",
        ),
        Picture(
            plots.scatter(model, dataset, n_train, fitted.outliers, error),
            "Estimate against reference. On the dashed line both agree.",
        ),
        Picture(
            plots.residuals(model, dataset, n_train, bias),
            "What is left over at each temperature. A median away from zero is a bias the model missed.",
        ),
        Picture(
            plots.weights(model, "Weights: trust them where train windows are many"),
            "The calibration itself. Wild swings where there were few train windows mean overfitting, or "
            "channels that were swapped.",
        ),
        Picture(
            plots.compression(curves, full, size, smaller),
            "What a smaller bundle costs, for landmark temperatures (the default) and the paper's way. "
            "Above the full model's line a refit has begun to follow the noise.",
        ),
    ]


def _headline(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    unit = summary["unit"]
    return [
        ("R² test", _number(summary["r2_test"])),
        ("RMSE test", f"{_number(summary['rmse_test'])} {unit}"),
        (f"covered at {summary['level']:.0%}", _number(summary["coverage"])),
        ("windows", f"{summary['n_train']} + {summary['n_test']}"),
        ("support vectors", str(summary["support"])),
        ("bytes", str(summary["bytes"])),
    ]


def _flat(summary: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in summary.items():
        if isinstance(value, Mapping):
            yield from _flat({f"{name} {key}": item for key, item in value.items()})
        else:
            yield name, ", ".join(map(str, value)) if isinstance(value, list | tuple) else _number(value)


def _number(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _tile(name: str, value: str) -> str:
    return f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>"


def _row(name: str, value: str) -> str:
    return f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"


def _picture(picture: Picture) -> str:
    data, caption = b64encode(plots.png(picture.figure)).decode(), escape(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


_STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #666; --page: #f6f6f4; --card: #fff; --line: #ddd }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e6; --soft: #a5a5a0; --page: #181817; --card: #242423; --line: #3a3a38 }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--page); color: var(--ink);
       font: 1rem/1.45 system-ui, sans-serif }
h1 { font-size: 1.3rem } h2 { font-size: 1.05rem; margin-top: 2rem }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .6rem }
.tiles div, figure { background: var(--card); border: 1px solid var(--line); border-radius: .5rem }
.tiles div { padding: .6rem .8rem }
.tiles b { display: block; font-size: 1.2rem; font-variant-numeric: tabular-nums }
.tiles span, figcaption, li { color: var(--soft); font-size: .88rem }
.pictures { columns: 26rem; column-gap: 1rem; margin-top: 1rem }
figure { margin: 0 0 1rem; overflow: hidden; break-inside: avoid }
img { display: block; width: 100%; height: auto; background: #fff }
figcaption { padding: .6rem .8rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; font-weight: normal; padding: .2rem .6rem .2rem 0; vertical-align: top;
         border-bottom: 1px solid var(--line) }
th { color: var(--soft); width: 45% } td { word-break: break-word }
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<div class="tiles">{tiles}</div>
<div class="pictures">{pictures}</div>
<h2>All figures</h2>
<table>{table}</table>
<ul>{notes}</ul>
</body>
</html>
"""
