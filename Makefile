# Bare `make` explains; every other target builds .venv first.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
OLDEST := $(addprefix tests/optim/test_,between_steps.py gradients.py groups.py guard_torch.py hooks.py \
	kernels_agree.py native.py options.py state_dict.py)
# Nothing is installed whose hash is not in a lock file, and no package's own code runs on the way.
LOCKED := install -q --require-hashes --no-deps --only-binary :all:
TORCH := $(shell grep -o '^torch==[^ ]*' requirements/torch.txt)
LOCKS := requirements/torch.txt requirements/dev.txt requirements/cuda.txt
# What the slow tests of the engines rest on; CI runs them when one of these has changed.
ENGINES := $(wildcard src/acprop/bench/engines/*.py tests/bench/engines/*.py) $(addprefix src/acprop/bench/,\
	execute.py leases.py run.py run_files.py signals.py spec.py store.py workers.py)
C_SOURCES := $(wildcard src/acprop/native/*.c src/acprop/native/*.h src/acprop/native/*.inc)

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## build .venv with the package and everything the targets need

$(STAMP): pyproject.toml $(LOCKS) setup.py $(C_SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "PYTHON must be 3.11 or newer, got $$($(PYTHON) --version); run make PYTHON=python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	# Of two files pip prefers the one whose hash an index tells, which the CPU's build may lack: so it chooses
	# a file first, and installs that if it is locked, else one that is.
	$(BIN)/pip download -q --no-deps --only-binary :all: -d build/torch $(TORCH)
	$(BIN)/pip $(LOCKED) --no-index -f build/torch -r requirements/torch.txt || \
	  $(BIN)/pip $(LOCKED) -r requirements/torch.txt
	@rm -r build/torch
	$(BIN)/pip $(LOCKED) -r requirements/dev.txt
	$(BIN)/pip show torch | grep -q '^Version: .*+cpu' || $(BIN)/pip $(LOCKED) -r requirements/cuda.txt
	$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	$(BIN)/pip check
	@touch $@

lock:  ## pin every package again, after a change in pyproject.toml; LOCK=--upgrade for newer versions
	test -x build/lock/bin/python || $(PYTHON) -m venv build/lock
	build/lock/bin/pip $(LOCKED) -r requirements/build.txt
	build/lock/bin/python scripts/lock.py $(LOCK)

wheel: setup  ## sdist and wheel, checked, and the wheel at work where there is no compiler
	test -x build/lock/bin/python || $(PYTHON) -m venv build/lock
	build/lock/bin/pip $(LOCKED) -r requirements/build.txt
	rm -rf dist build/clean
	build/lock/bin/python -m build --no-isolation --outdir dist .
	build/lock/bin/twine check --strict dist/*
	build/lock/bin/python -m zipfile --list dist/*.whl | grep -q acprop/native/_native.so
	build/lock/bin/python -m tarfile --list dist/*.tar.gz | grep -q src/acprop/native/step.c
	case $$(uname) in Linux) build/lock/bin/auditwheel show dist/*.whl;; esac
	$(PYTHON) -m venv build/clean
	build/clean/bin/pip install -q --no-deps --no-index dist/*.whl
	# torch is lent by .venv: its package of ours is a link that PYTHONPATH does not follow.
	cd build/clean && env -i PATH=/nonexistent PYTHONPATH="$$("$(CURDIR)/$(BIN)/python" -c \
	  'import sysconfig; print(sysconfig.get_path("purelib"))')" bin/python "$(CURDIR)/scripts/take_one_step.py"

check: setup  ## format, lint, types, imports, golden vectors, tables
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python scripts/write_golden.py --check
	$(BIN)/python scripts/tables.py --check

docs: setup  ## the documentation and the site of results, in build/docs; warnings and broken links are errors
	rm -rf build/docs
	$(BIN)/sphinx-build -q -W -n --keep-going -d build/doctrees docs build/docs
	$(BIN)/acprop report results --out build/docs/results
	$(BIN)/python scripts/links.py build/docs

browser:  ## Debian's Chromium and its driver, in which the tests open the explorer
	@$(PYTHON) scripts/browser.py || { $(SUDO) apt-get update -q && \
	  $(SUDO) apt-get install -q -y --no-install-recommends chromium chromium-driver; }
	@$(PYTHON) scripts/browser.py

test: setup  ## the tests (all but the slow ones)
	$(BIN)/pytest -n 2

test-all: setup  ## the tests, slow ones included
	$(BIN)/pytest -n 2 -m ''

test-cluster: setup  ## the engines alone: two Ray nodes, kills of workers, drivers and nodes; SLURM
	$(BIN)/pytest -m '' tests/bench/engines
	sha256sum $(ENGINES) > tests/bench/engines/passed.sha256

test-oldest:  ## the optimizers with the oldest torch that is supported (its wheels bring several GB)
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip $(LOCKED) -r requirements/oldest.txt
	PYTHONPATH=src .venv-oldest/bin/python -m pytest -n 2 $(OLDEST)

test-trainers: setup  ## the tests with trainers of others (their packages take 270 MB)
	# Two of them are built here, with what .venv has: no build brings packages without a hash.
	DS_BUILD_OPS=0 $(BIN)/pip install -q --require-hashes --no-deps --no-build-isolation --use-pep517 \
	  -r requirements/trainers.txt
	# Not into .venv: torchvision does not import beside a CPU build of torch.
	$(BIN)/pip $(LOCKED) --upgrade --target build/timm -r requirements/timm.txt
	$(BIN)/pytest -n 2 -m '' tests/trainers tests/integrations tests/optim/test_create.py

coverage: setup  ## the lines of src that the tests reach, and those they do not
	$(BIN)/pytest -n 2 --cov --cov-report=term-missing:skip-covered

sanitize: setup  ## the C code under address and undefined-behaviour sanitizers
	$(BIN)/pytest -m '' tests/native/test_build.py

perf: setup  ## speed, as ratios measured in one run
	$(BIN)/python perf/step.py
	$(BIN)/python perf/small_state.py
	$(BIN)/python perf/sweep.py
	$(BIN)/python perf/input.py
	$(BIN)/python perf/rl.py
	$(BIN)/python perf/features.py
	$(BIN)/python perf/site.py
	$(BIN)/python perf/explorer.py
	$(BIN)/python perf/store.py
	$(BIN)/python perf/distributed.py
	$(BIN)/python perf/compile.py
	$(BIN)/python perf/memory.py
	$(BIN)/python perf/billion.py

reproduce: setup  ## every claim, every toy figure, every study at smoke scale, and a site; ONLY=lab,… for some
	$(BIN)/acprop reproduce --scale smoke $(if $(ONLY),--only $(ONLY))
	@$(BIN)/python scripts/same_verdicts.py

evidence: setup  ## run what docs/evidence.md lists and results/ lacks (about 24 core-hours, resumes)
	$(BIN)/python scripts/evidence.py run

evidence-check: setup  ## the default once more, on a fresh seed of the tasks that chose it (3 minutes)
	$(BIN)/python scripts/evidence.py check

ablation: setup  ## measure the guard again (results/guard)
	$(BIN)/python scripts/guard_ablation.py
	$(BIN)/python scripts/tables.py

.PHONY: evidence evidence-check help setup lock wheel check docs browser test test-all test-cluster test-oldest test-trainers coverage sanitize perf reproduce ablation
.DEFAULT_GOAL := help
