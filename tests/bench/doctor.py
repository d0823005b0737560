"""The error rates of the doctor: findings in sound simulated recordings, and injected faults found.

    python -m tests.bench.doctor

prints two tables. Sound are the paper's six packages in eight deployments, both swaps corrected and without
outliers, for each seed. Faults are put into the 16 recordings of two sensors, one at a time; what is found is
counted if the sound recording did not show it already. Stuck and clipped columns are looked for alone, and so
is what shows in windows; whatever has to do with clocks and electrodes goes through the whole examination.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from model_export.doctor import clipped, coverage, dead, drift, outliers, sisters, stuck
from model_export.doctor.case import Case
from model_export.doctor.diagnose import CHECKS, Check
from model_export.doctor.prepare import case_of
from model_export.recordings.recording import Recording
from model_export.simulator.campaign import SWAPPED
from tests.support import faults, simulated
from tests.support.cases import without_scan

Network = Mapping[tuple[str, str], Recording]
Spoil = Callable[[Recording], Recording]

SENSORS = ("5A2D", "B5FF")
SEEDS, FAULTY = (2, 3, 4), 21

IN_ALL: dict[str, Spoil] = {
    **{
        f"clock {minutes:+d} min": lambda sound, minutes=minutes: faults.late(sound, minutes)  # type: ignore[misc]
        for minutes in (-60, -15, -4, 4, 15, 60)
    },
    "clock +60 min in the second half": lambda sound: faults.late_from(sound, 60),
    "clock that loses 30 min": lambda sound: faults.running(sound, 30.0),
    "swapped electrodes": faults.swapped,
    "op1 stuck 8 times for 24 h": lambda sound: faults.stuck(sound, "op1", 24.0, 8),
}
IN_COLUMNS: dict[str, Spoil] = {
    "op1 stuck once for 2 h": lambda sound: faults.stuck(sound, "op1", 2.0),
    "op1 stuck 6 times for 2 h": lambda sound: faults.stuck(sound, "op1", 2.0, 6),
    "op1 stuck 10 times for 2 h": lambda sound: faults.stuck(sound, "op1", 2.0, 10),
    "op1 stuck 30 times for 1.5 h": lambda sound: faults.stuck(sound, "op1", 1.5, 30),
    "op1 clipped for 2 %": lambda sound: faults.clipped(sound, "op1"),
    "op1 clipped for 0.5 %": lambda sound: faults.clipped(sound, "op1", 0.005),
    "reference clipped for 2 %": lambda sound: faults.clipped(sound, "reference"),
    "reference clipped for 1 %": lambda sound: faults.clipped(sound, "reference", 0.01),
}
IN_WINDOWS: dict[str, Spoil] = {
    "zero drifts by 0.1 ppm": lambda sound: faults.drifting(sound, 0.1),
    "zero drifts by 0.3 ppm": lambda sound: faults.drifting(sound, 0.3),
    "gain drifts by 10 %": lambda sound: faults.losing(sound, 0.1),
    "gain drifts by 30 %": lambda sound: faults.losing(sound, 0.3),
    "zero steps by 0.1 ppm": lambda sound: faults.shifted(sound, 0.1),
    "zero steps by 0.3 ppm": lambda sound: faults.shifted(sound, 0.3),
    "zero steps by 1 ppm": lambda sound: faults.shifted(sound, 1.0),
    "3 days": lambda sound: faults.first_days(sound, 3.0),
    "a fifth of the temperatures": faults.indoors,
    "op1 dead": lambda sound: faults.dead(sound, "op1", millivolts=200.0),
    "op2 dead": lambda sound: faults.dead(sound, "op2", millivolts=200.0),
}


def codes(case: Case, *checks: Check) -> set[str]:
    """The codes of some checks of one recording."""
    return {finding.code for check in checks for finding in check([case])}


def in_all(recording: Recording) -> set[str]:
    """The codes of all checks."""
    return codes(case_of(recording, "T-W"), *CHECKS)


def in_columns(recording: Recording) -> set[str]:
    """The codes of stuck and clipped columns."""
    return codes(without_scan(recording), stuck.check, clipped.check)


def in_windows(recording: Recording) -> set[str]:
    """The codes of 15-minute windows, without the weights."""
    return codes(without_scan(recording), coverage.check, dead.check, outliers.check, drift.check)


def row(what: str, total: int, counts: Counter[str]) -> None:
    """One line of a table."""
    told = ", ".join(f"`{code}` {count}" for code, count in sorted(counts.items())) or "nothing"
    print(f"| {what} | {total} | {told} |", flush=True)


def sound(seeds: Iterable[int]) -> None:
    """Print the findings in sound recordings, for each network."""
    print("| sound recordings, seed | recordings | of them with |\n|---|---|---|")
    for seed in seeds:
        cases = _cases(simulated.network(seed, outliers=0.0))
        counts = Counter(code for case in cases.values() for code in codes(case, *CHECKS))
        counts.update(finding.code for finding in sisters.check(list(cases.values())))
        row(str(seed), len(cases), counts)


def injected(seed: int) -> None:
    """Print the findings for each fault that the sound recording does not have."""
    print("\n| fault | recordings | found |\n|---|---|---|")
    recordings = simulated.network(seed, sensors=SENSORS, outliers=0.0)
    for look, kinds in ((in_columns, IN_COLUMNS), (in_windows, IN_WINDOWS), (in_all, IN_ALL)):
        before = {key: look(one) for key, one in recordings.items()}
        for name, spoil in kinds.items():
            new = [look(spoil(one)) - before[key] for key, one in recordings.items()]
            row(name, len(new), Counter(code for codes in new for code in codes))
        if look is in_windows:
            _outliers(seed, before)
    _swap(seed)


def _outliers(seed: int, before: Mapping[tuple[str, str], set[str]]) -> None:
    for share in (0.003, 0.01, 0.03):
        spoilt = simulated.network(seed, sensors=SENSORS, outliers=share)
        new = [in_windows(one) - before[key] for key, one in spoilt.items()]
        row(
            f"outliers in {share:.1%} of the windows",
            len(new),
            Counter(code for codes in new for code in codes),
        )


def _swap(seed: int) -> None:
    """CO and NOx swapped in two of six packages; each deployment is compared by itself."""
    cases = _cases(simulated.network(seed, SWAPPED, outliers=0.0))
    counts: Counter[str] = Counter()
    for dataset in {dataset for _, dataset in cases}:
        found = sisters.check([case for key, case in cases.items() if key[1] == dataset])
        counts.update(one.code if one.sensor in SWAPPED else f"{one.code} on a sound sister" for one in found)
    row("CO and NOx swapped", sum(sensor in SWAPPED for sensor, _ in cases), counts)


def _cases(recordings: Network) -> dict[tuple[str, str], Case]:
    return {key: case_of(one, key[1]) for key, one in recordings.items()}


def main() -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), help="of sound networks")
    parser.add_argument("--faulty", type=int, default=FAULTY, help="seed of the recordings that are spoilt")
    asked = parser.parse_args()
    injected(asked.faulty)
    print()
    sound(asked.seeds)


if __name__ == "__main__":
    main()
