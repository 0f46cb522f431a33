# forklake: everything CI does is a target here. `make` lists them.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint unit store local soak bench generate verify lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(READY) ## a virtual environment in .venv with everything the other targets need

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "forklake needs Python 3.11 or newer: $$($(PYTHON) --version) found. Set PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "forklake needs Python's venv module (Debian: apt-get install python3-venv)" >&2; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

demo: $(READY) ## the main job on the embedded default: a catalog, forks, the tree
	@$(BIN)/python examples/demo.py

test: lint verify unit store local ## everything CI checks

lint: $(READY) ## ruff, mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: $(READY)
	$(BIN)/pytest tests/unit -q

# the older end of what we support; the newer versions are in a wheel
POSTGRES_15 := /usr/lib/postgresql/15/bin/postgres
$(POSTGRES_15):
	@[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "the tests need Postgres 15 in /usr/lib/postgresql/15 (Debian 12: apt-get install postgresql-15)" >&2; exit 1; }
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql-15

store: $(READY) $(POSTGRES_15)
	$(BIN)/pytest tests/store -q -n 2 --dist worksteal

local: $(READY)
	$(BIN)/pytest tests/local -q

generate: $(READY) ## writes crds/ and docs/reference/ from the code
	$(BIN)/python -m tools.generate

verify: $(READY) ## fails if what generate writes is not what is here
	$(BIN)/python -m tools.generate --check

soak: $(READY) ## the property test of clean-up for ten minutes
	FORKLAKE_SOAK_SECONDS=$${FORKLAKE_SOAK_SECONDS:-600} $(BIN)/pytest tests/store/test_cleanup_property.py -q -s

bench: $(READY) ## prints our speeds beside the rival's; JSON in bench/results/
	$(BIN)/python -m bench

lock: ## writes requirements.lock anew from pyproject.toml
	rm -rf $(VENV)/lock && $(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)/lock/bin/pip install --quiet . --group dev
	$(VENV)/lock/bin/pip freeze --exclude forklake --exclude pip > requirements.lock

clean: ## removes what the other targets made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis bench/results
