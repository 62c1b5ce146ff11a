# Clarion. `make test` and `make demo` work from a bare clone: they make .venv, install, and run.
#
#   make PYTHON=python3.12 test     another interpreter
#   make test ARGS='tests/unit -x'  arguments for pytest
#   make test DATABASE=postgresql+psycopg://127.0.0.1:5432/test  nodes keep their chains there
#   make demo SECONDS=20            a demonstration that ends by itself
#   make bench FULL=1               all measurements, to docs/benchmarks.md; BITCOIND=... compares with the reference
#   make fuzz SECONDS=600           hostile bytes for the network's decoders, transports and peers, so long each

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
ARGS ?=
DATABASE ?=
SECONDS ?= 0
FULL ?=
FUZZ ?= messages transports peers

BIN := $(VENV)/bin
READY := $(VENV)/.installed

.PHONY: help install test lint format types contracts check demo compat bench fuzz build clean

help:
	@sed -n '1,9s/^# \{0,1\}//p' Makefile
	@echo "Targets: install test lint format types contracts check demo compat bench fuzz build clean"

install: $(READY)

# The oracle (Core's own library, for differential tests) has no build for some platforms: its tests skip then.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Clarion needs Python 3.11 or newer, $(PYTHON) is " + sys.version.split()[0] + ": give another with PYTHON=...")'
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { rm -rf $(VENV); echo "Making $(VENV) ..."; $(PYTHON) -m venv $(VENV); }
	@echo "Installing ..."
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --editable '.[dev,transports]'
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --only-binary :all: --editable '.[oracle]' \
		|| echo "No build of py-bitcoinkernel for this platform: the tests that compare with it will skip."
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --only-binary plyvel --editable '.[electrumx]' \
		|| echo "No build of plyvel for this platform: the test with ElectrumX will skip."
	@if command -v npm >/dev/null; then \
		npm install --silent --no-audit --no-fund --prefix $(VENV)/npm bitcoin-core@5 >/dev/null 2>&1 \
			|| echo "npm could not install bitcoin-core: the test with it will skip."; fi
	@touch $@

# A file is tested whole by one worker: tests of a file may share a node that goes on from one to the next.
test: $(READY)
	$(if $(DATABASE),CLARION_TEST_DATABASE='$(DATABASE)' )$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY)
	$(BIN)/mypy -p clarion
	MYPYPATH=src:tests:tools $(BIN)/mypy --explicit-package-bases tools examples tests/helpers tests/fullblocks tests/architecture tests/bench

contracts: $(READY)
	$(BIN)/lint-imports --no-logo

check: lint types contracts test

demo: $(READY)
	@$(BIN)/python examples/demo.py --seconds $(SECONDS)

# Plays recorded conversations with Bitcoin Core against a fresh node; needs the recordings (CLARION_SHARED, ../shared).
compat: $(READY)
	$(BIN)/python tools/compat.py $(ARGS)

# Measures and writes what it found: some minutes, with FULL=1 half an hour. Only the full run is kept in the docs.
# The node's modules are compiled first, as an installation has them: else each of its processes does it at each start.
bench: $(READY)
	$(BIN)/python -m compileall -q node api notifiers plugins
	PYTHONPATH=tests $(BIN)/python -m bench $(if $(FULL),--full --out docs/benchmarks.md,--out build/benchmarks.md) $(ARGS)

# Coverage-guided, by atheris, which has no build for every platform; what is found is kept in build/fuzz.
fuzz: $(READY)
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --only-binary :all: atheris
	@for target in $(FUZZ); do \
		PYTHONPATH=tests $(BIN)/python -m fuzz $$target --seconds $(if $(filter-out 0,$(SECONDS)),$(SECONDS),60) --work build/fuzz || exit 1; done

# Both archives, one built from the other; they must hold the same files.
build: $(READY)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python tools/compare_archives.py dist

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
