"""How often the doctor is wrong: false alarms on sound simulated networks, and injected faults it misses.

python -m tests.bench.doctor --seeds 2 3 4
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable

from model_export.campaign import SWAPPED
from model_export.doctor.case import Case, case_of
from model_export.doctor.diagnose import examine
from model_export.doctor.sisters import examine as compare
from model_export.tables import Recording
from model_export.doctor import zero_shift
from model_export.doctor.diagnose import trainable
from model_export.doctor.case import by_sensor
from model_export.simulate import simulate
from tests import faults, simulated

FAULTS: dict[str, tuple[str, Callable[[Recording], Recording]]] = {
    "clock -37 min": ("reference_clock_offset", lambda sound: faults.late(sound, -37)),
    "clock +60 min": ("reference_clock_offset", lambda sound: faults.late(sound, 60)),
    "clock +330 min": ("reference_clock_offset", lambda sound: faults.late(sound, 330)),
    "swapped": ("channels_swapped", faults.swapped),
    "stuck 6 h": ("stuck_channel", lambda sound: faults.stuck(sound, "op1")),
    "clipped 2 %": ("clipped_channel", lambda sound: faults.clipped(sound, "op1")),
    "drift 0.2 ppm": ("drift", lambda sound: faults.drifting(sound, 0.2)),
    "step 0.15 ppm": ("reference_zero_shift", lambda sound: faults.shifted(sound, 0.15)),
}


def main() -> None:
    """Count, and print as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--injected-from", nargs="+", default=["5A2D", "B5FF"])
    seeds = parser.parse_args()
    alarms: Counter[str] = Counter()
    swaps: Counter[str] = Counter()
    zeros: Counter[str] = Counter()
    found: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    recordings = 0
    worst_clock = 0
    for seed in seeds.seeds:
        sound = simulated.network(seed)
        cases = {key: case_of(one, key[1]) for key, one in sound.items()}
        recordings += len(cases)
        for case in cases.values():
            alarms.update({finding.code for finding in examine(case)})
        alarms.update(finding.code for finding in compare(list(cases.values())))
        wrong = {key: case_of(one, key[1]) for key, one in simulated.network(seed, SWAPPED, SWAPPED).items()}
        for case in wrong.values():
            swaps.update(
                f"swapped network: {f.code}"
                for f in examine(case)
                if f.severity == "error" or f.code == "erratic_weights"
            )
        named = [finding.sensor for finding in compare(list({**cases, **wrong}.values()))]
        swaps.update(f"cross_sensor_swap on {sensor}" for sensor in named)
        zeros.update(_zeros(seed, list(cases.values())))
        for (sensor, dataset), one in sound.items():
            if sensor in seeds.injected_from:
                for name, (code, spoil) in FAULTS.items():
                    tried[name] += 1
                    spoilt = case_of(spoil(one), dataset)
                    codes = {finding.code for finding in examine(spoilt)}
                    found[name] += code in codes
                    if name.startswith("clock") and code in codes:
                        worst_clock = max(worst_clock, abs(spoilt.minutes - int(name.split()[1])))
        print(
            json.dumps(_report(recordings, alarms, swaps, zeros, found, tried, worst_clock), indent=2),
            flush=True,
        )


def _report(
    recordings: int,
    alarms: Counter[str],
    swaps: Counter[str],
    zeros: Counter[str],
    found: Counter[str],
    tried: Counter[str],
    worst: int,
) -> dict[str, object]:
    return {
        "sound recordings": recordings,
        "recordings of them with a finding": dict(alarms),
        "two sensors swapped": dict(swaps),
        "zero shifts": dict(zeros),
        "faults found": {name: f"{found[name]} of {tried[name]}" for name in tried},
        "clock wrong by at most (minutes)": worst,
    }


def _zeros(seed: int, cases: list[Case]) -> Counter[str]:
    """Shifts against the truth: beyond the detectable size found or missed, and shifts there were not."""
    truth = {
        name: place.analyser.zero for name, place in simulate(seed, sensors=["5A2D"]).colocations.items()
    }
    counts: Counter[str] = Counter()
    for mine in by_sensor([case for case in cases if trainable(case)]).values():
        found = zero_shift.shifts([case.dataset for case in mine], [case.windows for case in mine])
        for one in found.others:
            true = truth[one.dataset] - truth[found.baseline]
            called = abs(one.shift) > found.detectable(one)
            real = (
                "beyond detectable"
                if abs(true) > found.detectable(one)
                else "beyond half of it"
                if abs(true) > found.detectable(one) / 2
                else "smaller"
            )
            counts[f"{real}: {'called' if called else 'not called'}"] += 1
    return counts


if __name__ == "__main__":
    main()
