# make demo    build .venv, install, run the main job on the embedded graph
# make test    build .venv, install, lint, types and all default tests
# make crash-test  kill runs at random moments, resume and compare them
# make faults  let every call that writes a file fail once; nothing may be half-written
# make fuzz    broken files, hostile folders and odd commands; each is done or refused in bounds
# make figures fill docs/reliability.md from what the harnesses have counted
# make soak    half an hour of fit, embed and links in one process; memory stays flat
# make docs    build the site from the pages, notebooks and docstrings; warnings are errors
# make oldest  the default tests against the oldest versions that pyproject.toml allows
# make ecosystem  the tests with Ray, Lightning, TensorBoard and the Hugging Face hub, in a venv of their own
# make dist    wheel and sdist in dist/
# make bench   time a step beside a plain PyG implementation's
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# Benchmark datasets, where they lie beside the checkout; tests that need them are skipped elsewhere.
ifneq ($(wildcard ../shared/data),)
export MASKGAE_DATA ?= $(abspath ../shared/data)
endif
# Two OpenMP threads that spin beside a busy core cost more than they give.
export OMP_WAIT_POLICY ?= passive

.PHONY: demo test test-all crash-test faults fuzz soak figures docs dist oldest ecosystem bench lint types clean

demo: $(STAMP)
	$(BIN)/maskgae demo

# One process a core, one thread a process; 'make test JOBS=0' stays in one process.
JOBS ?= auto
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses $(JOBS)

test: $(STAMP) lint types
	$(PYTEST) -m "not slow"

# 2,000 files or graphs for each property of the readers, 60 in the default tests.
test-all: $(STAMP) lint types
	MASKGAE_EXAMPLES=2000 $(PYTEST)
	$(MAKE) faults fuzz crash-test

# Each harness leaves its figures in results/reliability, and 'make figures' fills the page.
HARNESS := OMP_NUM_THREADS=1 $(BIN)/python -m tests.harness
FIGURES := results/reliability
KILLS ?= 300
MINUTES ?= 10
CALLS ?= 2000

crash-test: $(STAMP)
	$(HARNESS).crash --kills $(KILLS) --json $(FIGURES)/crash.json

faults: $(STAMP)
	$(HARNESS).faults --json $(FIGURES)/faults.json

fuzz: $(STAMP)
	$(HARNESS).fuzz --minutes $(MINUTES) --json $(FIGURES)/fuzz.json
	$(HARNESS).folders --minutes $(MINUTES) --json $(FIGURES)/folders.json
	$(HARNESS).commands --calls $(CALLS) --json $(FIGURES)/commands.json
	$(HARNESS).extremes --json $(FIGURES)/extremes.json

soak: $(STAMP)
	$(HARNESS).soak --minutes 30 --json $(FIGURES)/soak.json

figures: $(STAMP)
	$(HARNESS).figures

# Nothing is fetched: equations are MathML, and the notebooks use graphs that come with the package.
SITE ?= build/docs
docs: $(VENV)/.docs
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs $(SITE)
	@echo "open $(SITE)/index.html"

$(VENV)/.docs: $(STAMP)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

bench: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.speed
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.kernels
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.rate
	$(BIN)/python -m benchmarks.waits $(if $(wildcard ../shared/graphs),--graphs ../shared/graphs)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.stopping $(if $(wildcard ../shared/graphs),--graphs ../shared/graphs)
	$(BIN)/python -m benchmarks.render

# torch is the pinned one here, too: older ones are allowed, and not tested.
oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet --constraint constraints-oldest.txt torch
	.venv-oldest/bin/pip install --quiet --constraint constraints-oldest.txt --editable '.[dev]'
	OMP_NUM_THREADS=1 .venv-oldest/bin/pytest --numprocesses $(JOBS) -m "not slow" --deselect tests/hostile/test_pins.py

ecosystem:
	$(PYTHON) -m venv .venv-ecosystem
	.venv-ecosystem/bin/pip install --quiet --constraint constraints.txt torch
	.venv-ecosystem/bin/pip install --quiet --constraint constraints.txt --editable '.[dev]' -r tests/ecosystem/requirements.txt
	OMP_NUM_THREADS=1 .venv-ecosystem/bin/pytest tests/ecosystem

# The wheel is built from the sdist, so both are known to be complete.
dist: $(STAMP)
	rm -rf build dist
	$(BIN)/python -m build --outdir dist

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# torch goes first and by its exact pin: any later request is then already satisfied.
# The version, which records name, is read when the package is installed.
$(STAMP): pyproject.toml constraints.txt src/maskgae/__init__.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
