"""The paper's deployment: one van, six packages, four sites, two seasons, and the windows recorded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from edge_agent.core.errors import BadSettings

SENSORS = ("1FEA", "5092", "5A2D", "5CB6", "B5FF", "D3EB")
OUTLIERS = 0.01  # share of outliers in the reference; our choice
SERVICED = "T-W"  # the analyser was serviced before the longest deployment; our choice
# Their CO columns carry the NOx electrodes (the paper's "case of swapped sensors").
SWAPPED = ("5092", "D3EB")


@dataclass(frozen=True, slots=True)
class Deployment:
    """The van at one site in one season; `windows` is the sensors' row of the paper's Table 1."""

    dataset: str
    start_ms: int
    windows: Mapping[str, int]

    @property
    def site(self) -> str:
        """The letter of the site, B, C, G or T."""
        return self.dataset[0]


def known(option: str, names: Iterable[str], all_names: Iterable[str]) -> tuple[str, ...]:
    """The names as given, if all are known.

    >>> known("sensors", ["5A2D"], SENSORS)
    ('5A2D',)
    """
    possible, given = tuple(all_names), tuple(names)
    if unknown := [name for name in given if name not in possible]:
        raise BadSettings(f"{option}: expected some of {', '.join(possible)}, got {', '.join(unknown)}")
    return given


def _deployment(dataset: str, year: int, month: int, day: int, *windows: int) -> Deployment:
    start_ms = int(datetime(year, month, day, 6, tzinfo=UTC).timestamp()) * 1000
    return Deployment(dataset, start_ms, dict(zip(_TABLE_1, windows, strict=True)))


_TABLE_1 = ("5A2D", "5CB6", "1FEA", "5092", "B5FF", "D3EB")  # the order of its columns

# The counts are the paper's. It gives only the seasons, so the days are our choice: one van cannot be at two
# sites at once, and T-W takes 25 days.
DEPLOYMENTS = (
    _deployment("G-W", 2023, 10, 5, 629, 973, 972, 973, 973, 973),
    _deployment("T-W", 2023, 10, 19, 2430, 2431, 519, 2431, 2431, 2431),
    _deployment("B-W", 2023, 11, 20, 783, 784, 784, 784, 784, 784),
    _deployment("C-W", 2023, 12, 4, 744, 729, 439, 787, 907, 907),
    _deployment("C-S", 2024, 2, 12, 1102, 564, 283, 714, 1111, 974),
    _deployment("T-S", 2024, 2, 28, 1315, 1318, 783, 1318, 1318, 1304),
    _deployment("G-S", 2024, 3, 17, 1122, 1123, 1025, 1123, 1123, 1123),
    _deployment("B-S", 2024, 4, 3, 1068, 1070, 1069, 1070, 1070, 1070),
)
