"""The commands of model-export, as a user types them: data on stdout, messages on stderr."""

import os
import re
import shlex
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
import pytest

from edge_agent.core.errors import RespireError
from edge_agent.core.messages import format_time
from model_export.calibration import export, report
from model_export.calibration.fit import Recipe, Source, fit_recording, summary
from model_export.cli.main import main
from model_export.recordings.tables import read
from tests.support.commands import COMMANDS, examples, run
from tests.support.recordings import saved, tidy

PROMISED = (
    *("n_train", "n_test", "r2_train", "r2_test", "rmse_test", "support", "bytes"),
    *("tuning", "power", "coverage", "promised", "interval_score", "outliers", "seconds"),
)
SHORT = "warning: colocation_short: {} days of valid windows beside the reference, fewer than 7\n"


def test_fit_prints_the_promised_keys(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The keys a script can rely on; the figures are those of the bundle that was written."""
    fitted, words = run("fit january.csv february.csv --sensor 5A2D --out new.bundle", capsys)
    assert set(PROMISED) <= set(fitted)
    assert (fitted["n_train"], fitted["n_test"], fitted["sensor"]) == (320, 80, "5A2D")
    january, february, *rest = words.splitlines(keepends=True)
    assert january.startswith(
        "january.csv: 200 train windows, 12 to 30 °C; R² of the other recordings on it "
    )
    assert february.startswith("february.csv: 120 train windows, ")
    assert [one["name"] for one in fitted["recordings"]] == ["january.csv", "february.csv"]
    assert rest == [SHORT.format(4.2)]
    assert (fitted["bytes"], fitted["id"]) == (
        Path("new.bundle").stat().st_size,
        export.read(Path("new.bundle")).id,
    )
    assert fitted["r2_test"] > 0.98
    assert fitted["coverage"] > 0.8
    model = export.read(Path("new.bundle"))
    assert model.valid_until_ms == (model.calibrated_ms or 0) + 180 * 86_400_000
    assert fitted["valid_until"] == format_time(model.valid_until_ms)
    assert model.provenance["to"] == format_time(model.calibrated_ms or 0)


def test_fit_leaves_the_noise_of_the_reference_out_of_the_interval(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("fit january.csv --sensor 5A2D --out plain.bundle", capsys)
    run("fit january.csv --sensor 5A2D --out known.bundle --reference-noise 0.01", capsys)
    before, after = (export.read(Path(f"{name}.bundle")) for name in ("plain", "known"))
    assert before.interval is not None
    assert after.interval is not None
    assert after.interval.half_width < before.interval.half_width
    assert (before.provenance.get("reference_noise"), after.provenance["reference_noise"]) == (None, 0.01)


def test_fit_prints_how_long_it_took(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The time of the report is included; a busy machine may pause before or after it, but not every time."""

    def is_right() -> bool:
        started = perf_counter()
        line = "fit january.csv --sensor 5A2D --out new.bundle --valid-for none --report page.html"
        printed, _ = run(line, capsys)
        assert printed["valid_until"] is None
        return bool(printed["seconds"] == pytest.approx(perf_counter() - started, rel=0.1, abs=0.1))

    assert any(is_right() for _ in range(3))


def test_fit_is_repeatable(inside: Path) -> None:
    """The same data and seed give the same bytes."""
    for name in ("one", "two"):
        assert main(shlex.split(f"fit january.csv --sensor 5A2D --out {name}.bundle")) == 0
    assert Path("one.bundle").read_bytes() == Path("two.bundle").read_bytes()


def test_evaluate_agrees_with_fit(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last 20 % cut off by hand give the figures of fit, if no input looks back before them."""
    saved(tidy(windows=400)[320 * 15 :], inside / "tail.csv")
    fit = "fit january.csv february.csv --sensor 5A2D --out new.bundle --no-warming"
    fitted, _ = run(fit, capsys)
    judged, _ = run("evaluate new.bundle tail.csv", capsys)
    assert {"n", "r2", "rmse", "mae", "bias", "coverage"} <= set(judged)
    pairs = {"n": "n_test", "r2": "r2_test", "rmse": "rmse_test", "mae": "mae_test", "coverage": "coverage"}
    assert {key: fitted[name] for key, name in pairs.items()} == {key: judged[key] for key in pairs}


def test_paper_fits_as_the_paper_does(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No constant and linear part, and support vectors that are windows of the recording."""
    fitted, _ = run("fit january.csv --sensor 5A2D --out paper.bundle --paper --trials 3 --size 20", capsys)
    assert (fitted["trend"], fitted["support"]) == (0.0, 20)
    model = export.read(Path("paper.bundle"))
    assert not model.trend.any()


def test_without_a_test_part_its_figures_are_null(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All windows may be used for training; then there are no test figures."""
    fitted, _ = run("fit january.csv --sensor 5A2D --out all.bundle --test-share 0 --report all.html", capsys)
    assert (*(fitted[key] for key in ("n_train", "n_test", "r2_test", "coverage")),) == (200, 0, None, None)


def test_adapt_corrects_a_shifted_site(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Evaluated on windows that the adapter was not fitted to."""
    adapted, _ = run("adapt 5A2D.bundle march.csv --out march.bundle", capsys)
    assert adapted["gain"] == pytest.approx(1.3, abs=0.05)
    assert adapted["before"]["r2"] < 0.0
    assert adapted["after"]["r2"] > 0.9
    before, after = (export.read(Path(name)) for name in ("5A2D.bundle", "march.bundle"))
    assert after.provenance["adapted_on"] == "march.csv"
    assert (after.calibrated_ms or 0) > (before.calibrated_ms or 0)
    assert (after.valid_until_ms or 0) - (after.calibrated_ms or 0) == 180 * 86_400_000


def test_transfer_serves_a_sensor_without_a_reference(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """5CB6 was never beside a reference, but beside 5A2D."""
    line = "transfer 5A2D.bundle --source january.csv --source february.csv --target 5CB6.csv --sensor 5CB6"
    moved, _ = run(f"{line} --out 5CB6.bundle", capsys)
    assert (moved["n"], moved["source"]) == (400, "5A2D")
    assert min(moved["r2"].values()) > 0.99
    truth = tidy(windows=400)
    saved(truth.assign(op1=truth["op1"] * 0.9 + 11.0), inside / "5CB6-truth.csv")
    here, _ = run("evaluate 5CB6.bundle 5CB6-truth.csv", capsys)
    there, _ = run("evaluate 5A2D.bundle january.csv february.csv", capsys)
    assert here["r2"] == pytest.approx(there["r2"], abs=1e-3)


def test_compress_shows_the_curve(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """More support vectors, more bytes; the size chosen is that of the bundle."""
    printed, _ = run("compress 5A2D.bundle january.csv february.csv --sizes 2,8 --plot c.png", capsys)
    assert {"landmarks", "paper"} == set(printed["curves"])
    for points in printed["curves"].values():
        assert [point["size"] for point in points] == [2, 8]
        assert points[0]["bytes"] < points[1]["bytes"]
    assert printed["chosen"] == len(export.read(Path("5A2D.bundle")).support)
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


def test_inspect_shows_the_model(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Weights over temperature, the training domain and where it came from, as the agent's inspect does."""
    shown, _ = run("inspect 5A2D.bundle --plot weights.png", capsys)
    model = export.read(Path("5A2D.bundle"))
    channels = ["op1", "op2", "warming_1h", "warming_4h"]
    assert (model.id, channels) == (shown["id"], shown["channels"])
    assert shown["warming"] == {"warming_1h": 3600, "warming_4h": 14400}
    curves = shown["curves"]
    expected = model.weights([curves["temperature"][0]])[0]
    np.testing.assert_allclose([curves[name][0] for name in (*channels, "bias")], expected, rtol=1e-3)
    assert shown["provenance"]["dataset"] == "january.csv and 1 more"
    assert Path("weights.png").read_bytes().startswith(b"\x89PNG")


def test_the_report_stands_alone(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five pictures inside the page, nothing fetched from elsewhere."""
    run("fit january.csv --sensor 5A2D --out new.bundle --report page.html", capsys)
    page = Path("page.html").read_text()
    assert page.count('src="data:image/png;base64,') == 6
    assert page.count("alt=") == 6
    assert not re.search(r"(?:src|href)=\"(?!data:)", page)
    assert 'name="viewport"' in page
    assert "prefers-color-scheme: dark" in page


def test_a_report_that_fails_late_names_the_bundle(inside: Path) -> None:
    """Here a folder of the same name appears during the fit."""
    out, page = Path("late.bundle"), Path("late.html")
    result = fit_recording(
        read([Path("january.csv")], "5A2D"),
        "ppm",
        out,
        source=Source(),
        recipe=Recipe(),
        progress=lambda done, total: page.mkdir(exist_ok=True),
    )
    with pytest.raises(RespireError) as caught:
        report.write(result, summary(result), page)
    assert str(caught.value) == (
        "late.html: could not be written: Is a directory; the bundle late.bundle is complete"
    )
    assert export.read(out).sensor == "5A2D"


def test_a_wrong_unit_is_a_warning(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bundle is written all the same."""
    _, words = run("fit january.csv --sensor 5A2D --unit ppb --out new.bundle", capsys)
    assert words == (
        f"{SHORT.format(2.1)}"
        "warning: reference_unit: a median of 1.036 ppb is not outdoor CO (20 to 50000 ppb); "
        "--unit ppm would be\n"
    )


def test_a_file_of_another_sensor_is_noticed_by_its_name(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message then asks for the right file and does not recommend an adapter."""
    march = pd.read_csv("march.csv")
    saved(march.assign(op1=march["op1"] + 50.0), inside / "5CB6_T-W.csv")
    printed = "5CB6_T-W.csv: its name says sensor 5CB6, but"
    _, words = run("evaluate 5A2D.bundle 5CB6_T-W.csv", capsys)
    assert words.startswith(f"{printed} the bundle is for 5A2D; check the files\n")
    assert re.search(r"the 90% interval covers 0%.*; do not use the bundle here\n$", words)
    for line in ("fit 5CB6_T-W.csv --sensor 5A2D", "adapt 5A2D.bundle 5CB6_T-W.csv"):
        _, words = run(f"{line} --out other.bundle", capsys)
        assert words.startswith(printed)
    _, words = run("adapt 5A2D.bundle colocation/5A2D_T-W.csv --out same.bundle", capsys)
    assert "its name says" not in words


def test_fahrenheit_is_a_warning_on_the_report_too(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """fit warns, and so does evaluate with a bundle in °C."""
    january = pd.read_csv("january.csv")
    saved(january.assign(temperature=january["temperature"] * 1.8 + 32.0), inside / "fahrenheit.csv")
    line = "fit fahrenheit.csv --sensor 5A2D --out f.bundle --report f.html"
    _, words = run(line, capsys)
    assert "which is not outdoor air in °C (-60 to 60); °F would be" in words
    assert "which is not outdoor air in °C" in Path("f.html").read_text()
    _, words = run("evaluate 5A2D.bundle fahrenheit.csv", capsys)
    assert "100% of this recording is outside the training range" in words


@pytest.mark.parametrize(
    "line",
    # That of adapt --from-journal runs beside a journal, in recordings/test_journal.py; that of experiment
    # --quick in experiment/test_command.py; that of all eight methods is what `make experiment` runs.
    [
        line
        for line in examples()
        if line.split()[1] in COMMANDS
        and "--from-journal" not in line
        and not line.endswith(("--quick", "--out results"))
    ],
)
def test_the_examples_run(
    inside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Unchanged, in a folder with such files; a second process would import everything once more."""
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    printed, _ = run(line.removeprefix("model-export "), capsys)
    assert printed.get("sensor", "5A2D") in ("5A2D", "5CB6")


def test_there_is_no_progress_bar_without_a_terminal(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log file gets messages only."""
    _, words = run("fit january.csv --sensor 5A2D --out new.bundle", capsys)
    assert words == SHORT.format(2.1)


def test_columns_can_be_mapped(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same data under other names give the same figures."""
    base = "--sensor 5A2D --out new.bundle"
    ours, _ = run(f"fit january.csv february.csv {base}", capsys)
    theirs, _ = run(f"fit van.parquet {base} --columns op1=co_we,op2=co_ae", capsys)
    assert ours["r2_test"] == pytest.approx(theirs["r2_test"], abs=1e-6)


def test_one_channel_is_enough(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not every sensor has an auxiliary electrode."""
    saved(pd.read_csv("january.csv").drop(columns="op2"), inside / "single.csv")
    fitted, _ = run("fit single.csv --sensor 5A2D --out single.bundle --report single.html", capsys)
    judged, _ = run("evaluate single.bundle single.csv", capsys)
    assert (fitted["channels"], judged["n"]) == (["op1", "warming_1h", "warming_4h"], 200)
