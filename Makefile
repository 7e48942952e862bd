# Everything runs in a virtual environment that is made here; `make clean` removes it.
# A new machine needs python3 (3.11 or newer) and make.

PYTHON ?= python3
KILLS ?= 300
LEGS ?= 300
RACES ?= 200
ALIKE ?= 1 12 40 450
SEED := $(or $(SEED),$(shell date +%s))
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check

# The tests and the benchmarks start some hundred processes; each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo unit test soak check format lock bench up down containers clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## verify a sample catalog against a local partner service, end to end
	@$(BIN)/proofsweep demo

unit: $(READY) ## run the tests of the core alone and of the architecture, in under a minute
	@$(BIN)/pytest --quiet --numprocesses auto --maxprocesses 4 --dist loadfile tests/unit tests/architecture

test: $(READY) ## run all tests
	@$(BIN)/python tests/supervised.py $(BIN)/pytest --quiet --numprocesses auto --maxprocesses 4 --dist loadfile -rs

soak: $(READY) ## kill runs, race resumes and sweeps, let files fail alike, disturb runs in any order; then play worlds until Ctrl-C
	@echo "The faults are drawn from seed $(SEED). To draw the same again: make soak SEED=$(SEED)"
	@PROOFSWEEP_SOAK_KILLS=$(KILLS) PROOFSWEEP_SOAK_LEGS=$(LEGS) PROOFSWEEP_SOAK_RACES=$(RACES) \
		PROOFSWEEP_SOAK_SEED=$(SEED) PROOFSWEEP_SOAK_ALIKE="$(ALIKE)" PROOFSWEEP_SOAK_TAMPERINGS=200 \
		PROOFSWEEP_SOAK_NIGHTS=200 PROOFSWEEP_SOAK_SWITCHES=3 PROOFSWEEP_SOAK_SPELLS=1 PROOFSWEEP_SOAK_BREAKS=1 PROOFSWEEP_SOAK_TWO_DAYS_SECONDS=3600 PROOFSWEEP_SOAK_WATCH_SECONDS=3600 $(BIN)/python tests/supervised.py $(BIN)/pytest --quiet --capture=no --hypothesis-seed=$(SEED) \
		tests/faults/test_killed_anywhere.py tests/faults/test_races.py tests/faults/test_shared_pause.py tests/faults/test_in_any_order.py \
		tests/faults/test_whose_fault.py tests/faults/test_flaky_service.py tests/faults/test_store_away.py tests/faults/test_controls.py tests/faults/test_around_a_command.py tests/faults/test_clocks.py \
		tests/faults/test_ingest.py tests/faults/test_suppliers.py tests/faults/test_watching.py tests/faults/test_store_outage.py tests/faults/test_worker_processes.py \
		tests/unit/operations/test_rotate.py tests/unit/operations/test_erase.py tests/unit/ingest/test_ingest_pass.py tests/buckets/test_killed_moves.py \
		tests/unit/verify/test_interleavings.py tests/unit/audit/test_audit_store_after_tampering.py tests/unit/audit/test_prune.py tests/cli/test_ten_nights.py tests/flows/test_crashed_runs.py \
		tests/deployment/test_two_days.py tests/deployment/test_native_setup.py \
		tests/world
	@$(BIN)/python -m benchmarks --quick
	@$(BIN)/python tests/world/soak.py --seed $(SEED)

check: $(READY) ## format, lint, types and import contracts
	@$(BIN)/ruff format --quiet --check --diff .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(READY) ## format the code, and fix what ruff can fix
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

lock: $(READY) ## update requirements.lock from pyproject.toml
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra dev --generate-hashes \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
		--output-file requirements.lock pyproject.toml

bench: $(READY) ## measure the figures of docs/performance.md; about an hour
	@$(BIN)/python -m benchmarks

up: ## start everything in containers: server and worker; the sandbox only without a partner's key (docs/deployment.md)
	@deploy/up
	@echo "Prefect: http://127.0.0.1:4200 (login: deploy/secrets/prefect-login)"

down: ## stop the containers; their volumes stay
	@docker compose down --remove-orphans

containers: $(READY) ## build the image and run docker-compose.yml for real, as root on Debian; ten minutes, more the first time
	@tests/containers/with-engine timeout --kill-after 30 2400 \
		$(BIN)/pytest --quiet --exitfirst --numprocesses 0 --capture=no -rs tests/containers

clean: ## remove everything that was made here, with the environment
	@rm -rf $(VENV) build dist *.egg-info tests/servers/*/node_modules .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("proofsweep needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@echo "Making $(VENV) (once; a minute or two)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) --no-deps --require-hashes --requirement requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@
