# `make help` lists the targets. Needs make and Python 3.11 to 3.13, nothing else: all that is installed goes to .venv.

PYTHON ?= python3 python3.13 python3.12 python3.11  # the first of these with a fitting version makes .venv
MODEL  ?= simple-attention
OUT    ?= report.html
ARGS   ?=

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help report test lint format bench screenshots images clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

report: $(VENV)/.package ## compile the demo model and write report.html (MODEL=..., OUT=...)
	@$(BIN)/gexplorer report "$(MODEL)" -o "$(OUT)"
	@echo "Report: $(abspath $(OUT))"

test: $(VENV)/.dev ## run the tests (ARGS="-k name" for some of them)
	@$(BIN)/python -m pytest -n auto $(ARGS)

lint: $(VENV)/.dev ## ruff, pyright and the import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev ## let ruff format the code and mend what it can
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(VENV)/.bench ## measure ourselves and the peers (ARGS=...)
	$(BIN)/python -m benchmarks $(ARGS)

screenshots: $(VENV)/.dev ## every view of the explorer as pictures, in screenshots/ (ARGS=...)
	@$(BIN)/python -m benchmarks.screenshots $(ARGS)

images: $(VENV)/.dev ## draw the pictures of the README anew
	@$(BIN)/python docs/images/draw.py

clean: ## remove all that make made, .venv too
	rm -rf $(VENV) build dist report.html screenshots .coverage htmlcov .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp says that its set of packages is installed as pyproject.toml asks; make redoes it only when that changes.
# The package is installed editable, so a change in gexplorer/ needs no new installation.

$(VENV)/.created:
	@set -e; \
	for python in $(PYTHON); do \
	    "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null || continue; \
	    echo "Making $(VENV) with $$("$$python" --version) ($$python)"; \
	    "$$python" -m venv --clear $(VENV) || { rm -rf $(VENV); \
	        echo "make: $$python cannot make a virtual environment; on Debian or Ubuntu install python3-venv" >&2; exit 1; }; \
	    touch $@; exit 0; \
	done; \
	echo "make: gexplorer needs Python 3.11, 3.12 or 3.13, and none of these is one: $(strip $(PYTHON))" >&2; \
	echo "make: install one, or name one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1

$(VENV)/.package: pyproject.toml | $(VENV)/.created
	@echo "Installing gexplorer into $(VENV) (a minute or two, once)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.created
	@echo "Installing gexplorer and its development tools into $(VENV) (a minute or two, once)"
	@$(PIP) --editable '.[dev]'
	@touch $(VENV)/.package $@

$(VENV)/.bench: $(VENV)/.dev
	@echo "Installing the peers to measure into $(VENV)"
	@$(PIP) --editable '.[dev,bench]'
	@touch $@
