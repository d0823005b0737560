# make test    everything that must hold, in its own .venv (needs only Python >= 3.11 and make)
# make check   ruff and mypy
# make bench   the benchmarks, side by side in one run

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: test check bench clean

test: .venv/installed
	$(BIN)/python -m pytest -q $(PYTEST)

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed
	$(BIN)/python -m tests.bench

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) --constraint constraints.txt --editable '.[export,test,dev]'
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build
