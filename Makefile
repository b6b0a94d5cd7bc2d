# Two commands matter: `make campaign` and `make test`. Both set everything up first.
# scripts/choose-python chooses the Python, scripts/bootstrap.py sets up; see CONTRIBUTING.md.

PYTHON ?=
SECONDS ?= 60
CAMPAIGN_ARGS ?=
BENCH_ARGS ?=
PYTEST_ARGS ?=

BIN := .venv/bin
CODE := strategies targets oracles fuzz scripts tests

.DEFAULT_GOAL := help
.PHONY: help setup campaign test lint types pytest bench format clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18
	@echo
	@echo "  variables: PYTHON=python3.12  SECONDS=$(SECONDS)  CAMPAIGN_ARGS='--seed 7'  PYTEST_ARGS='-k gateway'"

setup: ## make or repair .venv (the other commands do it by themselves)
	@python=$$(scripts/choose-python "$(PYTHON)") && "$$python" scripts/bootstrap.py

campaign: setup ## fuzz the parsers and the gateway for SECONDS seconds
	@$(BIN)/wirefence campaign --seconds $(SECONDS) $(CAMPAIGN_ARGS)

test: lint types pytest ## everything that must pass: lint, format, types, tests

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

pytest: setup
	WIREFENCE_PROFILE=$${WIREFENCE_PROFILE:-ci} $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

bench: setup ## measure the generator, the parsers, the judge and the gateway
	@$(BIN)/python -m scripts.bench $(BENCH_ARGS)

format: setup ## lay the code out and fix what lint can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove .venv and caches; findings and corpora in .wirefence stay
	rm -rf .venv .venv.lock .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
