"""`make bench`: all benchmarks in one run, so that compared figures come from the same run."""

import importlib
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
SUITES = ("core", "agent", "whole_fit", "trainer", "fleet")


def main(names: list[str]) -> None:
    """Run the named suites, or all of them."""
    for name in names or SUITES:
        print(f"\n## {name}\n", flush=True)
        importlib.import_module(f"tests.bench.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
