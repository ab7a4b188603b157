# make up: start everything. make test: all tests. Both set up what they need first.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: up test check crash crash-night recall bench-recall bench-site bench format clean

up: .venv/.run
	@exec $(BIN)/penfriend up

test: .venv/.dev node_modules/.installed .run/synapse/.installed
	$(BIN)/python -m pytest

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Kills, cancellations, power cuts and seeded mistakes over the real bridge; about two minutes.
crash: .venv/.dev
	$(BIN)/python -m tests.crash

crash-night: .venv/.dev
	$(BIN)/python -m tests.crash --night

# make recall [DATA=dir]: how well old words are found, on the sample or on a folder of data sets.
recall: .venv/.dev
	$(BIN)/python -m bench.recall $(DATA)

bench-recall: .venv/.dev
	$(BIN)/python -m bench.recall $(DATA) --sizes 10000,100000 --plot docs/recall.svg

# What a page and a question cost, beside a bare application in the same run.
bench-site: .venv/.dev
	$(BIN)/python -m bench.site

# What durability and the way of a message cost, as ratios to plain SQLite in the same run; a missed goal ends with 1.
bench: .venv/.dev
	$(BIN)/python -m bench.store
	$(BIN)/python -m bench.pipeline

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .run node_modules build dist *.egg-info .mypy_cache .ruff_cache .hypothesis

node_modules/.installed: package.json package-lock.json
	@scripts/need test
	npm ci --silent
	@touch $@

# A real Matrix homeserver for the tests, apart from ours: its licence and its dependencies are not ours.
.run/synapse/.installed: requirements-synapse.lock .venv/bin/python
	$(PYTHON) -m venv .run/synapse
	.run/synapse/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-synapse.lock
	@touch $@

.venv/bin/python:
	@scripts/need run
	$(PYTHON) -m venv .venv

.venv/.run: .venv/bin/python requirements.lock pyproject.toml
	$(PIP) --require-hashes -r requirements.lock
	$(PIP) --no-deps -e .
	@touch $@

.venv/.dev: .venv/.run requirements-dev.lock
	$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@
