"""Memory of a process that runs tasks."""

import resource
import sys

import numpy as np
import pytest

from model_export.engine.processes import process_pool
from model_export.engine.run import run_all

ROUNDS, SIZE = 100, 300_000


def faults(_: str) -> int:
    """How often the system has to map a page while arrays are made and freed."""
    np.ones(SIZE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _round in range(ROUNDS):
        np.ones(SIZE)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_a_freed_array_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a process that is started as Dask starts its workers."""
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    results = run_all(faults, {"a": "a"}, lambda: process_pool(1), print)
    pages_of_one = SIZE * 8 // resource.getpagesize()
    assert results["a"] < 2 * pages_of_one
