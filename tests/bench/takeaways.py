"""`make experiment`: the whole evaluation on the simulated network, and the paper's takeaways as assertions.

    python -m tests.bench.takeaways FOLDER

Simulates 48 datasets and the two swapped sensors corrected, runs every method, and checks each takeaway with
a margin. An interrupted run is resumed. Exit 1 if one does not hold. The paper's RESPIRE is counted beside
ours and shown; only ours must win.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from model_export.cli.main import main as model_export
from model_export.experiment.cases import RESPIRE, RESPIRE_PAPER, TRANSFERS
from model_export.experiment.leaderboard import board, rivals
from model_export.experiment.methods import METHODS
from model_export.simulator.campaign import SWAPPED

SEED = 1
HIGH_CAPACITY = ("DT", "GBDT", "KNN")
SHIFTED = 0.1  # ppm between the zeros of two references


@dataclass(frozen=True, slots=True)
class Claim:
    """A takeaway, its figures, and whether it holds; None if it is only shown."""

    says: str
    figures: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """One word for the first column."""
        return "shown" if self.holds is None else "holds" if self.holds else "FAILS"


def claims(table: pd.DataFrame, corrected: pd.DataFrame, truth: dict[str, Any]) -> Iterator[Claim]:
    """The paper's takeaways in its order."""
    yield from _capacity(table)
    for respire in (RESPIRE, RESPIRE_PAPER):
        yield from _most_wins(table, respire)
    yield _adapter(table, truth)
    yield _outliers(table, truth)
    yield _correction(table, corrected)


def _capacity(table: pd.DataFrame) -> Iterator[Claim]:
    """Trees and neighbours win training and lose transfer."""
    counted = board(table, rivals(list(METHODS), RESPIRE), adapter=True)
    share = counted.loc[list(HIGH_CAPACITY)].sum() / counted.sum()
    figures = f"{share['train']:.0%} of the wins on train parts, {share['transfer']:.0%} of those elsewhere"
    yield Claim("DT, GBDT and KNN win training", figures, bool(share["train"] >= 0.8))
    yield Claim("DT, GBDT and KNN lose transfer", figures, bool(share["transfer"] <= 0.15))


def _most_wins(table: pd.DataFrame, respire: str) -> Iterator[Claim]:
    """With a margin of a tenth over the next."""
    for adapter, word in ((False, "without"), (True, "with")):
        won = board(table, rivals(list(METHODS), respire), adapter)["transfer"].sort_values(ascending=False)
        others = won.drop(respire)
        figures = ", ".join(f"{name} {count}" for name, count in won.items())
        holds = bool(won[respire] >= 1.1 * others.max()) if respire == RESPIRE else None
        yield Claim(f"{respire}: the most wins over SX + XS + XX, {word} adapter", figures, holds)


def _adapter(table: pd.DataFrame, truth: dict[str, Any]) -> Claim:
    """Sound sensors between datasets whose references differ in zero."""
    zero = {dataset: analyser["zero"] for dataset, analyser in truth["analysers"].items()}
    own = table[table["kind"].isin(TRANSFERS) & table["scenario"].isin(["S1", "S2"])]
    own = own[~own["sensor"].isin(truth["swapped"])]
    apart = (own["dataset"].map(zero) - own["target_dataset"].map(zero)).abs() >= SHIFTED
    return _lifted(
        "The adapter lifts R² where the reference was shifted",
        own[apart & (own["scenario"] == "S1")].groupby("method")["r2"].median(),
        own[apart & (own["scenario"] == "S2")].groupby("method")["r2"].median(),
        margin=0.05,
    )


def _outliers(table: pd.DataFrame, truth: dict[str, Any]) -> Claim:
    """Sound sensors where some window of the test part is known to be an outlier; with adapter."""
    spoilt = {dataset for dataset, stamps in truth["outliers"].items() if stamps}
    own = table[table["kind"].isin(TRANSFERS) & (table["scenario"] == "S2")]
    own = own[own["target_dataset"].isin(spoilt) & ~own["sensor"].isin(truth["swapped"])]
    medians = own.groupby("method")[["r2", "r2_trimmed"]].median()
    says = "Leaving out 5 % of the test windows lifts R² where there are outliers"
    return _lifted(says, medians["r2"], medians["r2_trimmed"], margin=0.01)


def _correction(table: pd.DataFrame, corrected: pd.DataFrame) -> Claim:
    before, after = (
        one[
            one["sensor"].isin(SWAPPED) & one["kind"].isin(TRANSFERS) & (one["scenario"] == "S2")
        ].groupby("method")["r2"].median()
        for one in (table, corrected)
    )  # fmt: skip
    return _lifted("Correcting the swap lifts every method", before, after, margin=0.2)


def _lifted(says: str, before: "pd.Series[float]", after: "pd.Series[float]", margin: float) -> Claim:
    words = [f"{name} {before[name]:.2f} to {after[name]:.2f}" for name in before.index]
    return Claim(says, ", ".join(words), bool((after >= before + margin).all()))


def run(folder: Path) -> list[Claim]:
    """Simulate, evaluate and check."""
    network, out = folder / "network", folder / "results"
    swapped = ["--swapped", "none", "--sensors", ",".join(SWAPPED)]
    steps = [
        ["simulate", str(network), "--seed", str(SEED)],
        ["simulate", str(network / "corrected"), "--seed", str(SEED), *swapped],
        ["experiment", str(network), "--out", str(out)],
    ]
    for step in steps:
        if code := model_export(step):
            sys.exit(code)
    table, corrected = (pd.read_parquet(one / "results.parquet") for one in (out, out / "corrected"))
    return list(claims(table, corrected, json.loads((network / "truth" / "network.json").read_text())))


def main(folder: Path) -> int:
    """Print each takeaway; 1 if one does not hold."""
    found = run(folder)
    for claim in found:
        print(f"{claim.verdict}  {claim.says}: {claim.figures}")
    return 1 if any(claim.holds is False for claim in found) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
