"""The paper's co-location, simulated in memory: true air, packages with their faults, a reference.

A recording has one row a minute, UTC. The reference is in the rows at 00, 15, 30 and 45 past the hour. It is
the mean over the 15 minutes that *begin* there, so its stamp is in its own window [start, end).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from edge_agent.core.errors import BadSettings
from edge_agent.core.kernel import Array
from model_export.simulator.air import SITES, Air, draw_air
from model_export.simulator.analyser import WINDOW_MINUTES, Analyser, draw_analyser, measure, spoil
from model_export.simulator.campaign import (
    DEPLOYMENTS,
    OUTLIERS,
    SENSORS,
    SERVICED,
    SWAPPED,
    Deployment,
    known,
)
from model_export.simulator.outages import Mask, minutes_present, reference_present
from model_export.simulator.package import Package, draw_package, sense
from model_export.simulator.rng import stream
from model_export.simulator.weather import Times

NEW_MS = DEPLOYMENTS[0].start_ms  # when the packages were new


@dataclass(frozen=True, slots=True)
class Recording:
    """One sensor in one dataset, one row a minute, all (n,); NaN where a value is missing."""

    sensor: str
    dataset: str
    at_ms: Times
    op1: Array
    op2: Array
    temperature: Array
    reference: Array

    @property
    def name(self) -> str:
        """SENSOR_SITE-SEASON, the name of its file."""
        return f"{self.sensor}_{self.dataset}"


@dataclass(frozen=True, slots=True)
class Colocation:
    """One deployment: the true air, the analyser, and its readings, one a window (n/15,)."""

    deployment: Deployment
    air: Air
    analyser: Analyser
    reference: Array
    outliers: Mask


@dataclass(frozen=True, slots=True)
class Network:
    """A simulated network; `packages` and `colocations` are the truth behind `recordings`."""

    seed: int
    swapped: frozenset[str]
    packages: Mapping[str, Package]
    colocations: Mapping[str, Colocation]
    recordings: tuple[Recording, ...]


def simulate(
    seed: int = 1,
    outliers: float = OUTLIERS,
    swapped: Collection[str] = SWAPPED,
    sensors: Iterable[str] = SENSORS,
    datasets: Iterable[str] | None = None,
) -> Network:
    """The network of a seed; a recording does not depend on which others are simulated."""
    if not 0.0 <= outliers < 1.0:
        raise BadSettings(f"outliers: expected a share from 0 to below 1, got {outliers}")
    packages = {sensor: draw_package(seed, sensor) for sensor in known("sensors", sensors, SENSORS)}
    wrong = frozenset(known("swapped", swapped, SENSORS))
    places = {deployment.dataset: deployment for deployment in DEPLOYMENTS}
    chosen = places if datasets is None else known("datasets", datasets, places)
    colocations = {dataset: colocate(seed, places[dataset], outliers) for dataset in chosen}
    recordings = tuple(
        _record(seed, package, colocation, package.sensor in wrong)
        for colocation in colocations.values()
        for package in packages.values()
    )
    return Network(seed, wrong, packages, colocations, recordings)


def colocate(seed: int, deployment: Deployment, outliers: float) -> Colocation:
    """The air and the analyser's readings; its zero and gain are true in the serviced deployment only."""
    rng = stream(seed, "reference", deployment.dataset)
    present = reference_present(rng, max(deployment.windows.values()))
    air = draw_air(
        stream(seed, "air", deployment.dataset),
        SITES[deployment.site],
        deployment.start_ms,
        len(present) * WINDOW_MINUTES,
    )
    analyser = Analyser() if deployment.dataset == SERVICED else draw_analyser(rng)
    measured = np.where(present, measure(rng, analyser, air.co), np.nan)
    reference, spoilt = spoil(stream(seed, "outliers", deployment.dataset), measured, outliers)
    return Colocation(deployment, air, analyser, reference, spoilt)


def _record(seed: int, package: Package, colocation: Colocation, swapped: bool) -> Recording:
    """The recording of a package; a swap changes only which pair is read."""
    rng = stream(seed, "recording", package.sensor, colocation.deployment.dataset)
    kept = colocation.deployment.windows[package.sensor]
    electrodes, temperature = minutes_present(rng, ~np.isnan(colocation.reference), kept)
    signals = sense(rng, package, colocation.air, new_ms=NEW_MS, swapped=swapped)
    reference = np.full(electrodes.shape, np.nan)
    reference[:, 0] = colocation.reference
    return Recording(
        sensor=package.sensor,
        dataset=colocation.deployment.dataset,
        at_ms=colocation.air.at_ms,
        op1=np.where(electrodes.ravel(), signals.op1, np.nan),
        op2=np.where(electrodes.ravel(), signals.op2, np.nan),
        temperature=np.where(temperature.ravel(), signals.temperature, np.nan),
        reference=reference.ravel(),
    )
