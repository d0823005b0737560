# make test    everything that must hold, in its own .venv (needs only Python >= 3.11 and make)
# make check   ruff and mypy
# make bench   the benchmarks, side by side in one run
# make experiment  the paper's evaluation on the simulated network, and its takeaways as assertions (long)
# make faults  the faults that take minutes
# make demo    a simulated van, its agent and a live dashboard, until Ctrl-C (or SECONDS=60)

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: test check bench demo experiment clean

test: .venv/installed
	$(BIN)/python -m pytest -q -n 2 --dist loadfile $(PYTEST)

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed
	$(BIN)/python -m tests.bench

faults: .venv/installed
	$(BIN)/python -m pytest -q -m long tests/test_faults.py

demo: .venv/demo
	@$(BIN)/python deploy/demo.py $(if $(SECONDS),--seconds $(SECONDS))

experiment: .venv/installed
	$(BIN)/python -m tests.bench.takeaways build/experiment

.venv/demo: pyproject.toml constraints.txt
	@echo "making .venv, which takes a minute" >&2
	@$(PYTHON) -m venv .venv
	@$(INSTALL) --constraint constraints.txt --editable '.[export]' amqtt
	@touch $@

.venv/installed: .venv/demo
	@$(INSTALL) --constraint constraints.txt --editable '.[export,test,dev]'
	@touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build tmp
	rm -rf deploy/dashboard/dist deploy/dashboard/node_modules
