# Everything runs in .venv, which the first target that needs it creates.
# A fresh machine needs Python 3.11 or later, make, and a network.

PYTHON ?= python3
BIN := .venv/bin
SEED ?= 1

# The tests start hundreds of interpreters, which should not compile all sources each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo broker-demo check test nojit lint bench soak clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

install: .venv/installed  ## the virtual environment with everything

.venv/installed: pyproject.toml requirements.lock
	@echo "Setting up .venv (a few minutes the first time) ..."
	@$(PYTHON) .ci/environment.py .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m tamis.spark.session.prepare 2> .venv/prepare.log || echo "Sessions will start slowly: see .venv/prepare.log"
	@touch .venv/installed

demo: install  ## the main job on generated auctions
	@$(BIN)/tamis demo

broker-demo: install  ## a broker with a console, a publisher of auctions, three subscribers
	@$(BIN)/tamis demo --broker

check: install  ## the fast tests, two to three minutes (and two to compile, the first time)
	@$(BIN)/python -m tests.warm
	@HYPOTHESIS_PROFILE=fast $(BIN)/python -m pytest -m "not slow" -n 2

test: install  ## the whole suite, with coverage (.venv/bin/coverage report shows it by file)
	@$(BIN)/python -m tests.warm
	@$(BIN)/python -m pytest -n 2 --cov --cov-report=

nojit: install  ## the kernels as plain Python, on small sizes
	@NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=plain $(BIN)/python -m tests.nojit

lint: install  ## linter, formatter, type checker
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: install  ## the benchmarks, with a table
	@$(BIN)/python -m benchmarks

soak: install  ## the long seeded runs that the suite samples; SEED=n for another
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[embeddings]'  # 4 GB
	@HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -n 2 --timeout 0 tests/contract tests/language tests/predicates tests/model tests/matching tests/published tests/engine tests/graphs tests/operators tests/routing
	@TAMIS_SOAK=1 $(BIN)/python -m pytest --timeout 0 tests/broker
	@$(BIN)/python -m tests.soak --seed $(SEED)
	@TAMIS_SOAK=20 SEED=$(SEED) $(BIN)/python -m pytest --timeout 0 tests/spark/test_crashes.py tests/spark/pipeline/test_crashes.py tests/spark/pipeline/test_kafka.py
	@TAMIS_SOAK=100 SEED=$(SEED) $(BIN)/python -m pytest --timeout 0 tests/server/test_fuzz.py tests/server/test_schemathesis.py
	@TAMIS_SOAK=1 SEED=$(SEED) $(BIN)/python -m pytest --timeout 0 tests/routing/test_overlay.py tests/routing/test_large_overlays.py

clean:  ## remove the environment and all caches
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage htmlcov dist
