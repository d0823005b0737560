# make test    everything that must hold, in its own .venv (needs only Python >= 3.11 and make)
# make check   ruff and mypy
# make bench   the benchmarks, side by side in one run
# make demo    a simulated van, its agent and a live dashboard, until Ctrl-C (or SECONDS=60); BUNDLES=DIR fits none
# make experiment  the paper's evaluation on the simulated network, and its takeaways as assertions (long)
# make faults  the faults that take minutes
# make integrations  the tests with Prometheus, InfluxDB, Node-RED and Home Assistant, downloaded into build/programs
# make oldest  the agent's tests with the oldest supported versions, in .venv-oldest
# make newest  all tests with the newest versions there are, without constraints, in .venv-newest
# make package  wheel, SBOM and Debian packages in dist/ (needs debhelper and help2man)
# make package-test  lintian, piuparts, and every package in fresh Debian roots (needs root; deploy/package/test.sh)
# make field  a real Debian in an emulator: what the documents promise, then power cuts (long; CUTS=30)
# make release  make package, then SHA256SUMS signed with minisign: docs/CONTRIBUTING.md

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CONSTRAINTS ?= constraints.txt
AGENT_TESTS := edge_agent tests/edge_agent $(addprefix tests/system/test_,agent.py agent_bounds.py agent_clock.py \
  clock_steps.py disk_faults.py far_ahead.py faults.py)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check \
  $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))
# Three workers on two cores: tests with real processes wait a lot.
SIDE_BY_SIDE := -n 3 --dist loadfile --no-loadscope-reorder
# `make check test`: the one runs beside the other.
MAKEFLAGS += $(if $(and $(filter check,$(MAKECMDGOALS)),$(filter test,$(MAKECMDGOALS))),--jobs=2)
UNLESS_IT_FAILS := >$(VENV)/install.log 2>&1 || { cat $(VENV)/install.log >&2; exit 1; }

.PHONY: test check bench demo experiment faults integrations oldest newest agent-test clean
.PHONY: package package-test field release

test: $(VENV)/installed
	@$(BIN)/python -m tests.support.needs
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) $(PYTEST)

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/installed
	$(BIN)/python -m tests.bench

faults: $(VENV)/installed
	@$(INSTALL) --editable '.[export,fleet,test,dev]' $(UNLESS_IT_FAILS)
	$(BIN)/python -m pytest -q -m long $(addprefix tests/system/test_,faults.py revisions.py fleet.py reference.py)

integrations: $(VENV)/installed
	@tests/support/programs.sh build/programs
	PATH="$(CURDIR)/build/programs/bin:$$PATH" $(BIN)/python -m pytest -q -m 'long or not long' \
	  tests/integrations tests/docs/test_integrations_doc.py tests/edge_agent/test_prometheus.py

demo: $(VENV)/demo
	@$(BIN)/python -m deploy.demo $(if $(SECONDS),--seconds $(SECONDS)) $(if $(BUNDLES),--bundles $(BUNDLES))

experiment: $(VENV)/installed
	$(BIN)/python -m tests.bench.takeaways build/experiment

oldest:
	@$(MAKE) --no-print-directory agent-test VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt

agent-test: $(VENV)/agent
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) $(AGENT_TESTS)

newest:
	@$(MAKE) --no-print-directory test VENV=.venv-newest CONSTRAINTS=

package: .venv-package/installed
	deploy/package/build.sh .venv-package

package-test:
	deploy/package/test.sh dist

field: $(VENV)/installed
	$(BIN)/python -m tests.field $(or $(PACKAGE),$(wildcard dist/*deb12_amd64.deb)) $(if $(CUTS),--cuts $(CUTS))

release: .venv-package/installed
	deploy/package/release.sh .venv-package

.venv-package/installed: pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -m venv .venv-package
	@.venv-package/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint $(CONSTRAINTS) build cyclonedx-bom
	@touch $@

$(VENV)/demo: pyproject.toml $(CONSTRAINTS) deploy/demo/mosquitto.sh
	@echo "making $(VENV), which takes a minute" >&2
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) --editable '.[export]' amqtt $(UNLESS_IT_FAILS)
	@deploy/demo/mosquitto.sh $(BIN)
	@touch $@

$(VENV)/installed: $(VENV)/demo
	@echo "installing what the tests need" >&2
	@$(INSTALL) --editable '.[export,test,dev]' $(UNLESS_IT_FAILS)
	@touch $@

$(VENV)/agent: pyproject.toml $(CONSTRAINTS) deploy/demo/mosquitto.sh
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) --editable '.[test]' $(UNLESS_IT_FAILS)
	@deploy/demo/mosquitto.sh $(BIN)
	@touch $@

clean:
	rm -rf .venv .venv-oldest .venv-newest .venv-package .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build tmp
	rm -rf deploy/dashboard/dist deploy/dashboard/node_modules
