# One command each; the environment in .venv is made on first use, and again when what it is built from changes.
PYTHON ?= python3
BIN := .venv/bin

# pip compiles these; changed Python files need no new installation.
BUILT_FROM := pyproject.toml hatch_build.py $(wildcard src/dcd/search/native/*.[ch])

JOBS ?= 2
EXPERIMENTS := table1 table1_literal noise noise_in_mechanism topology samples networks interactions robust

.PHONY: package wheels test-lowest exogenous demo test test-all test-pywhy test-dowhy test-ray check format docs docs-serve benchmark fuzz $(EXPERIMENTS) clean

demo: .venv/demo
	$(BIN)/python examples/sachs.py
	$(BIN)/python examples/penguins.py

# Tests go file by file, in the order of conftest.py, to whichever of the JOBS processes is free: those of a file
# share its costly fixtures. Each process has one thread for linear algebra: with more threads than cores these wait
# for each other most of the time.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

test: .venv/test
	$(PYTEST) -m "not slow"

# All of it: exhaustive enumerations, clusters, every peer and levels over many repetitions come after the rest.
# Other files need not be imported to find that nothing in them is slow.
test-all: test
	$(PYTEST) -m slow $$(grep --recursive --files-with-matches --include="*.py" "mark\.slow" tests)

# Packages that hold back NumPy or SciPy are tested in environments of their own.
test-pywhy: .venv-pywhy/ready
	.venv-pywhy/bin/python -m pytest tests/interop/pywhy_roundtrip.py

test-dowhy: .venv-dowhy/ready
	.venv-dowhy/bin/python -m pytest tests/interop/dowhy_effect.py tests/interop/lingam_roundtrip.py

test-ray: .venv-ray/ready
	.venv-ray/bin/python -m pytest tests/runtime/test_ray.py tests/test_docs.py -k "ray or scale"

# The lowest versions of the dependencies that pyproject.toml allows, where wheels of them exist. scikit-learn 1.6
# reads the column names of polars by a protocol that polars 1.40 deprecates and polars 2 lacks.
test-lowest: .venv-lowest/ready
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -n $(JOBS) --dist loadfile -m "not slow" \
		tests/estimators tests/features tests/graph tests/search tests/weights

# Source archive and a wheel for this machine, built from that archive, in dist/; tried in an environment that has
# nothing else.
package:
	rm -rf dist .venv-package
	$(PYTHON) -m venv .venv-package
	.venv-package/bin/python -m pip install --quiet "build>=1.2"
	.venv-package/bin/python -m build --outdir dist
	rm -rf .venv-package
	$(PYTHON) -m venv .venv-package
	.venv-package/bin/python -m pip install --quiet dist/*.whl
	.venv-package/bin/python packaging/try_package.py
	rm -rf .venv-package

# What a release consists of, in dist/: the source archive, and from it a wheel for each platform, compiled by
# ziglang from PyPI. Windows takes a few minutes: parts of its C library are compiled, too.
wheels:
	rm -rf dist .venv-package
	$(PYTHON) -m venv .venv-package
	.venv-package/bin/python -m pip install --quiet "build>=1.2" "hatchling>=1.26"
	.venv-package/bin/python -m pip install --quiet $$(.venv-package/bin/python -c "import hatch_build; print(hatch_build.ZIGLANG)")
	.venv-package/bin/python -m build --no-isolation --sdist --outdir dist
	for target in x86_64-linux aarch64-linux x86_64-macos aarch64-macos x86_64-windows; do \
		DCD_TARGET=$$target .venv-package/bin/python -m pip wheel --quiet --no-build-isolation --no-deps \
			--wheel-dir dist dist/*.tar.gz || exit 1; \
	done
	rm -rf .venv-package

check: .venv/check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, as files in site/: open site/index.html. A warning is an error (not with --quiet, which hides it).
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

docs-serve: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

# The notebooks of the site, run again: a test compares what they print with what is stored in them.
.PHONY: notebooks
notebooks: .venv/test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/notebooks/execute.py

# The watch first: what got slower since the last run, from benchmarks/results/history.jsonl.
benchmark: .venv/benchmark
	$(BIN)/python benchmarks/watch.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/false_members.py
	$(BIN)/python benchmarks/complexity.py
	$(BIN)/python benchmarks/rows.py
	$(BIN)/python benchmarks/pruning.py

# Methods and controls on the same tables: goes on where it stopped (hours for all of it; see
# python -m benchmarks.evaluation run --help). Then the tables of README and docs, from the rows that there are.
.PHONY: evaluation evidence
evaluation: .venv/benchmark
	$(BIN)/python -m benchmarks.evaluation run --jobs $(JOBS)

evidence: .venv/benchmark
	$(BIN)/python -m benchmarks.evaluation show > /dev/null
	$(BIN)/python -m benchmarks.evidence

# Random tables, files, documents, parameters and failures of the disk; a minute or two. SEED=1 for others.
SEED ?= 0
fuzz: .venv/test
	PYTHONPATH=tests OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -W ignore -m benchmarks.fuzz --tries 12000 --seed $(SEED)

# A table or figure of the paper: goes on where it stopped, then writes experiments/results.
$(EXPERIMENTS): .venv/experiments
	$(BIN)/python -m experiments run $@ --jobs $(JOBS)
	$(BIN)/python -m experiments show $@

# Arrows into columns that cannot be effects, on the tables that settings may be chosen on.
exogenous: .venv/exogenous
	$(BIN)/python -m experiments.exogenous run --role choose
	$(BIN)/python -m experiments.exogenous run --role choose --knowledge half
	$(BIN)/python -m experiments.exogenous show --role choose

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

.venv/demo: .venv/bin/python $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --editable ".[plot,networkx]"
	touch $@

.venv/test .venv/check .venv/docs .venv/benchmark .venv/experiments .venv/exogenous: .venv/%: .venv/demo
	$(BIN)/python -m pip install --quiet --group $*
	touch $@

.venv-pywhy/ready: $(BUILT_FROM)
	$(PYTHON) -m venv .venv-pywhy
	.venv-pywhy/bin/python -m pip install --quiet --editable ".[pywhy-graphs]" "pytest>=8.0"
	touch $@

.venv-dowhy/ready: $(BUILT_FROM)
	$(PYTHON) -m venv .venv-dowhy
	.venv-dowhy/bin/python -m pip install --quiet --editable ".[causal-learn,dowhy,pgmpy]" "lingam>=1.9" "pytest>=8.0"
	touch $@

.venv-ray/ready: $(BUILT_FROM)
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install --quiet --editable ".[dask,ray,plot]" "pytest>=8.0"
	touch $@

.venv-lowest/ready: $(BUILT_FROM) packaging/lowest.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) packaging/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --constraint .venv-lowest/constraints.txt --editable ".[causal-learn,parquet,plot]" \
		"ges==1.1.1" "networkx>=3.3" "polars>=1.0,<1.40" "pyparsing<3.3" "pytest>=8.0" "pytest-xdist>=3.7"
	touch $@

clean:
	rm -rf .venv .venv-pywhy .venv-dowhy .venv-ray .venv-lowest .venv-package dist demo-output site .mypy_cache .pytest_cache .ruff_cache
