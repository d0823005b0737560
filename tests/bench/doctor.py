"""How often the doctor is wrong: false alarms on sound simulated networks, and injected faults it misses.

    python -m tests.bench.doctor --seeds 2 3 4 5 6

Every seed is 48 sound recordings (the paper's network with both swaps corrected), the same network with 5092
and D3EB swapped, and eight faults put into each of the 8 recordings of one sensor, one at a time.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable

from model_export.campaign import SWAPPED
from model_export.doctor import sisters, zero_shift
from model_export.doctor.case import Case, by_sensor, case_of
from model_export.doctor.diagnose import examine
from model_export.simulate import simulate
from model_export.tables import Recording
from tests import faults, simulated

INJECTED = ("B5FF",)
FAULTS: dict[str, tuple[str, Callable[[Recording], Recording]]] = {
    "clock -37 min": ("reference_clock_offset", lambda sound: faults.late(sound, -37)),
    "clock +60 min": ("reference_clock_offset", lambda sound: faults.late(sound, 60)),
    "clock +330 min": ("reference_clock_offset", lambda sound: faults.late(sound, 330)),
    "swapped electrodes": ("channels_swapped", faults.swapped),
    "stuck for 6 h": ("stuck_channel", lambda sound: faults.stuck(sound, "op1")),
    "clipped at 98 %": ("clipped_channel", lambda sound: faults.clipped(sound, "op1")),
    "drift of 0.2 ppm": ("drift", lambda sound: faults.drifting(sound, 0.2)),
    "step of 0.15 ppm": ("reference_zero_shift", lambda sound: faults.shifted(sound, 0.15)),
}


class Tally:
    """What was counted so far."""

    def __init__(self) -> None:
        self.recordings = 0
        self.alarms: Counter[str] = Counter()
        self.swapped: Counter[str] = Counter()
        self.zeros: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.tried: Counter[str] = Counter()
        self.clock_error = 0

    def add(self, seed: int) -> None:
        """One more seed."""
        sound = simulated.network(seed)
        cases = {key: case_of(one, key[1]) for key, one in sound.items()}
        self.recordings += len(cases)
        for case in cases.values():
            self.alarms.update({finding.code for finding in examine(case)})
        self.alarms.update(finding.code for finding in sisters.examine(list(cases.values())))
        self.zeros.update(_zeros(seed, cases.values()))
        self._swap(seed, cases)
        for (sensor, dataset), one in sound.items():
            if sensor in INJECTED:
                self._inject(one, dataset)

    def _swap(self, seed: int, sound: dict[tuple[str, str], Case]) -> None:
        wrong = {key: case_of(one, key[1]) for key, one in simulated.network(seed, SWAPPED, SWAPPED).items()}
        for case in wrong.values():
            self.swapped.update({f"recordings with {finding.code}" for finding in examine(case)})
        found = sisters.examine(list({**sound, **wrong}.values()))
        self.swapped.update(f"networks with {finding.code} on {finding.sensor}" for finding in found)

    def _inject(self, sound: Recording, dataset: str) -> None:
        for name, (code, spoil) in FAULTS.items():
            case = case_of(spoil(sound), dataset)
            self.tried[name] += 1
            self.found[name] += code in {finding.code for finding in examine(case)}
            if name.startswith("clock"):
                self.clock_error = max(self.clock_error, abs(case.minutes - int(name.split()[1])))

    def report(self) -> dict[str, object]:
        """All counts."""
        return {
            "sound recordings": self.recordings,
            "of them with a finding": dict(self.alarms),
            "with two sensors swapped": dict(self.swapped),
            "zero shifts between deployments": dict(self.zeros),
            "injected faults found": {name: f"{self.found[name]} of {n}" for name, n in self.tried.items()},
            "clock off by at most (minutes)": self.clock_error,
        }


def _zeros(seed: int, cases: Iterable[Case]) -> Counter[str]:
    """Shifts against the truth, by how their true size compares with the detectable one."""
    truth = {
        name: place.analyser.zero for name, place in simulate(seed, sensors=["5A2D"]).colocations.items()
    }
    counts: Counter[str] = Counter()
    for mine in by_sensor(list(cases)).values():
        found = zero_shift.shifts([case.dataset for case in mine], [case.windows for case in mine])
        for one in found.others:
            size = abs(truth[one.dataset] - truth[found.baseline]) / found.detectable(one)
            kind = "1 and more" if size >= 1.0 else "0.5 to 1" if size >= 0.5 else "below 0.5"
            called = "called" if abs(one.shift) > found.detectable(one) else "not called"
            counts[f"{kind} detectable sizes: {called}"] += 1
    return counts


def main() -> None:
    """Count, and print as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2, 3])
    tally = Tally()
    for seed in parser.parse_args().seeds:
        tally.add(seed)
        print(f"seed {seed} done", file=sys.stderr)
    print(json.dumps(tally.report(), indent=2))


if __name__ == "__main__":
    main()
