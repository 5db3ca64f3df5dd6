# One command each; the environment in .venv is made on first use and again when pyproject.toml changes.
PYTHON ?= python3
BIN := .venv/bin

JOBS ?= 2
EXPERIMENTS := table1 table1_literal noise noise_in_mechanism topology samples networks interactions robust

.PHONY: demo test test-fast check format benchmark $(EXPERIMENTS) clean

demo: .venv/demo
	$(BIN)/python examples/sachs.py

test: .venv/test
	$(BIN)/python -m pytest

test-fast: .venv/test
	$(BIN)/python -m pytest -m "not slow"

check: .venv/check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: .venv/benchmark
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/accuracy.py

# A table or figure of the paper: goes on where it stopped, then writes experiments/results.
$(EXPERIMENTS): .venv/experiments
	$(BIN)/python -m experiments run $@ --jobs $(JOBS)
	$(BIN)/python -m experiments show $@

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

.venv/demo: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[plot,networkx]"
	touch $@

.venv/test .venv/check .venv/benchmark .venv/experiments: .venv/%: .venv/demo
	$(BIN)/python -m pip install --quiet --group $*
	touch $@

clean:
	rm -rf .venv demo-output .mypy_cache .pytest_cache .ruff_cache
