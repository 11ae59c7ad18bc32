# What a developer types. Everything is made in .venv by the first target that needs it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SEED ?= 1

.PHONY: setup demo test lint types imports conformance kill bench clean

setup: $(VENV)/.ready  ## build .venv with everything that development needs

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV) || $(MAKE) virtualenv
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade pip -c constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

.PHONY: virtualenv
virtualenv:  # for a Debian without the package python3-venv
	rm -rf $(VENV) && $(PYTHON) -m pip install --quiet --target $(VENV)-boot virtualenv
	PYTHONPATH=$(VENV)-boot $(PYTHON) -m virtualenv --quiet $(VENV) && rm -rf $(VENV)-boot

demo: setup  ## stream a real answer, with a tool call in it, from the embedded model
	$(BIN)/riverrun pull
	$(BIN)/python examples/chat_with_tools.py

test: setup  ## run the tests; those of the embedded model only where its weights are (in CI they are fetched)
	$(if $(CI),$(BIN)/riverrun pull)
	$(BIN)/pytest

lint: setup  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup  ## static types, by two checkers
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/mypy

imports: setup  ## imports go only downwards
	$(BIN)/lint-imports

conformance: setup  ## the recorded system's scenarios, compared; needs ../shared
	@rm -rf .conformance && mkdir -p .conformance
	$(BIN)/python -m tests.conformance.run --scenarios ../shared/oracle/scenarios --out .conformance
	-$(PYTHON) ../shared/oracle/compare.py ../shared/oracle/golden .conformance --deviations ../shared/oracle/deviations.json

kill: setup  ## kill processes that share suspended runs, at any moment; needs PostgreSQL; other moments with SEED=…
	$(BIN)/python -m tests.kill sqlite --seed $(SEED)
	$(BIN)/python -m tests.kill postgres --seed $(SEED)

bench: setup  ## what a chunk costs at each station
	$(BIN)/python bench/stations.py
	$(BIN)/python bench/decoding.py
	$(BIN)/python bench/long_run.py
	$(BIN)/python bench/processors.py
	$(BIN)/python bench/structured.py
	bench/compare.sh

clean:
	rm -rf $(VENV) .conformance build dist
