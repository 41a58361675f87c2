# `make test` is the one command: on a machine with Python 3.11, git and make it sets up what it needs.
PYTHON ?= python3.11
VENV := .venv
unexport PYTHONDONTWRITEBYTECODE  # else every process of a test compiles the project anew
BIN := $(VENV)/bin

.PHONY: demo plan test test-long security lint docs proto bench clean

$(VENV)/ready: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found; install Python 3.11 or name another: make PYTHON=python3.12 test" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# An analyzer, three shufflers and two thousand users as separate processes; `make demo ARGS="--users 400"`.
demo: $(VENV)/ready
	@$(BIN)/peos demo $(ARGS)

# `make plan ARGS="--users 100000 …"`: the planner, without installing anything by hand.
plan: $(VENV)/ready
	@$(BIN)/peos plan $(ARGS)

# One worker more than cores, since tests with processes wait much; in the order of their folders, so that these come first.
# Tests that need more than Python are skipped where it is missing, and listed; PEOS_REQUIRE=browser,namespaces makes that a failure.
# PEOS_FULL=1 runs what is otherwise left to CI (docs/testing.md). ruff and mypy run beside it, and say what they have to at the end.
test: $(VENV)/ready
	@lint=$$(mktemp); $(MAKE) --no-print-directory lint >"$$lint" 2>&1 & \
	$(BIN)/python -m pytest -n $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist loadfile --no-loadscope-reorder -rs $(ARGS); tests=$$?; \
	wait $$!; linted=$$?; cat "$$lint"; rm "$$lint"; exit $$((tests ? tests : linted))

test-long: $(VENV)/ready
	$(BIN)/python -m pytest -m long

# Every attack with its defence and without it, as a table; `python -m tests.security --write` keeps it in docs/attacks.md.
security: $(VENV)/ready
	@$(BIN)/python -m tests.security

lint: $(VENV)/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The documents as a site, build/docs/index.html, with an API reference. A dead link fails, and so does a page that loads
# something from another host (docs/conf.py).
$(VENV)/docs: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

docs: $(VENV)/docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs build/docs
	@echo "the site is build/docs/index.html"

# The wire: generated code is committed, and a test regenerates it and compares.
proto: $(VENV)/ready
	$(BIN)/python -m grpc_tools.protoc -Iproto --python_out=. --pyi_out=. proto/peos/v1/*.proto
	@if [ -d user_client/web/node_modules ]; then user_client/web/generate.sh; else echo "user_client/web: npm ci first, then make proto again" >&2; fi

# Each operation of each scheme; `make bench ARGS="overhead --users 4000"` another one, `python -m benchmarks.all` everything.
bench: $(VENV)/ready
	@$(BIN)/peos bench $(or $(ARGS),schemes)

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
