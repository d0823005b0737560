"""All recordings of a folder or a manifest, as windows."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edge_agent.core.errors import BadRecording, RespireError
from edge_agent.core.windows import WINDOW_MS
from model_export.recordings.dataset import Dataset, SensorType, Stamp, require_trainable, split, windows
from model_export.recordings.manifest import Entry, Skipped, find
from model_export.recordings.names import Place
from model_export.recordings.tables import Layout, read

_OPTION = re.compile(r"--(columns|timezone|sensor)")  # of `fit`, as the messages of tables.py name them


@dataclass(frozen=True, slots=True)
class Member:
    """A recording's windows, split: the first to fit to, the last to test on."""

    place: Place
    gas: str
    train: Dataset
    test: Dataset
    sensor_type: SensorType = "electrochemical"

    def warmed(self, memories_ms: Mapping[str, int]) -> "Member":
        """The same with channels for warming, see `Dataset.warmed`."""
        return replace(self, train=self.train.warmed(memories_ms), test=self.test.warmed(memories_ms))

    def comparable(self, other: "Member") -> bool:
        """Whether a model fitted to one can be used on the other: same gas, unit, channels, windows, type."""
        mine, theirs = self.train, other.train
        own = self.gas, mine.unit, mine.channels, mine.window_ms, self.sensor_type
        return own == (other.gas, theirs.unit, theirs.channels, theirs.window_ms, other.sensor_type)


@dataclass(frozen=True, slots=True)
class Collection:
    """All recordings that are usable, and those that are not."""

    members: tuple[Member, ...]
    skipped: tuple[Skipped, ...]

    @property
    def sensors(self) -> tuple[str, ...]:
        """The names of all sensors, sorted."""
        return tuple(sorted({member.place.sensor for member in self.members}))

    def of(self, sensors: Iterable[str]) -> "Collection":
        """The recordings of some sensors."""
        names = set(sensors)
        return replace(self, members=tuple(one for one in self.members if one.place.sensor in names))

    def of_gas(self, gas: str) -> "Collection":
        """The recordings of one gas: figures of several gases cannot be compared."""
        return replace(self, members=tuple(one for one in self.members if one.gas == gas))

    def busiest(self, count: int) -> tuple[str, ...]:
        """The sensors with the most windows."""
        windows = Counter[str]()
        for member in self.members:
            windows[member.place.sensor] += len(member.train) + len(member.test)
        return tuple(sorted(windows, key=lambda name: (-windows[name], name))[:count])


def collect(
    source: Path,
    test_share: float = 0.2,
    window_ms: int = WINDOW_MS,
    sensor_type: SensorType = "electrochemical",
) -> Collection:
    """Read every recording; those that are not usable are listed as skipped."""
    entries, skipped = find(source)
    members = []
    for entry in entries:
        try:
            members.append(_read(entry, test_share, window_ms, sensor_type))
        except RespireError as error:
            skipped.append(Skipped(str(entry.place), _OPTION.sub(r"a manifest's \1", str(error))))
    if not members:
        reasons = "".join(f"; {one.reason}" for one in skipped[:1])
        raise BadRecording(f"{source}: expected recordings such as 5A2D_T-W.csv, got none to use{reasons}")
    return Collection(tuple(members), tuple(skipped))


def load(
    paths: Sequence[Path],
    sensor: str,
    unit: str,
    layout: Layout | None = None,
    *,
    channels: Sequence[str] | None = None,
    reference: Stamp | None = "auto",
    window_ms: int = WINDOW_MS,
) -> Dataset:
    """The windows of a sensor from its files; with `reference=None` the reference is not read."""
    recording = read(paths, sensor, layout, channels, with_reference=reference is not None)
    return windows(recording, unit, reference, window_ms)


def _read(entry: Entry, test_share: float, window_ms: int, sensor_type: SensorType) -> Member:
    """`window_ms` and `sensor_type` are for an entry that does not say them."""
    recording = read(entry.paths, entry.place.sensor, Layout(entry.columns, entry.timezone))
    dataset = windows(recording, entry.unit, entry.reference, entry.window or window_ms)
    require_trainable(dataset)
    train, test = split(dataset, test_share)
    require_trainable(train)
    return Member(entry.place, entry.gas, train, test, entry.sensor_type or sensor_type)
