# Bare `make` explains; every other target builds .venv first.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
C_SOURCES := $(wildcard src/acprop/native/*.c src/acprop/native/*.h src/acprop/native/*.inc)

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## build .venv with the package and everything the targets need

$(STAMP): pyproject.toml constraints.txt setup.py $(C_SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "PYTHON must be 3.11 or newer, got $$($(PYTHON) --version); run make PYTHON=python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt torch
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	@touch $@

check: setup  ## format, lint, types, imports
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports

test: setup  ## the tests (all but the slow ones)
	$(BIN)/pytest -n 2

test-all: setup  ## the tests, slow ones included
	$(BIN)/pytest -n 2 -m ''

sanitize: setup  ## the C code under address and undefined-behaviour sanitizers
	$(BIN)/pytest -m '' tests/native/test_build.py

perf: setup  ## speed, as ratios measured in one run
	$(BIN)/python perf/step.py
	$(BIN)/python perf/blocked.py
	$(BIN)/python perf/sweep.py

reproduce: setup  ## repeat everything the project claims so far
	$(BIN)/python scripts/write_golden.py --check
	$(BIN)/acprop lab verify
	$(BIN)/acprop lab figures --out build/figures
	$(BIN)/python scripts/guard_ablation.py
	$(BIN)/python examples/cnn.py
	$(BIN)/python examples/transformer.py

.PHONY: help setup check test test-all sanitize perf reproduce
.DEFAULT_GOAL := help
