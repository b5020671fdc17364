# `make` alone lists the targets.
PYTHON ?= python

.DEFAULT_GOAL := help
.PHONY: help setup run quick quick-engine quick-rest test ui long gpu lint type bench docs site

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install the project and all development tools
	$(PYTHON) -m pip install -c constraints.txt -e '.[starter,test]'

run: ## launch the app
	$(PYTHON) -m theodolite.app

# Two processes rather than two workers of one: neither has to import what only the other half needs.
QUICK = OMP_NUM_THREADS=1 $(PYTHON) -m pytest -q -m 'not ui and not long and not slow'

quick: ## the tests to run at every change, in under a minute
	@$(MAKE) -j2 -k --no-print-directory --output-sync quick-engine quick-rest

quick-engine:
	$(QUICK) tests/engine

quick-rest:
	$(QUICK) tests --ignore=tests/engine --ignore=tests/ui

test: ## all tests except those in a browser
	$(PYTHON) -m pytest

ui: ## the tests in a real browser (needs chromium)
	$(PYTHON) -m pytest -p tests.flaky tests/ui -m 'ui and not long'

long: ## tests that take long, and every extra; resumes where it was stopped
	$(PYTHON) -m tests.long

gpu: ## the tests that need an Nvidia GPU
	$(PYTHON) -m pytest -m gpu

lint: ## linters, Python and JavaScript
	ruff check .
	ruff format --check .
	@for f in $$(git ls-files '*.js'); do node --check "$$f" || exit 1; done
	node --test tests/js/

type: ## static types
	mypy

bench: ## every performance claim, measured on this machine
	@for f in $(filter-out claims tab,$(basename $(notdir $(wildcard benchmarks/[a-z]*.py)))); do $(PYTHON) -m benchmarks.$$f || missed="$$missed $$f"; done; test -z "$$missed" || { echo "missed:$$missed"; exit 1; }

docs: ## screenshots for the README and the site, from a running app
	$(PYTHON) -m docs.pictures

site: ## the documentation as a site, into build/site
	$(PYTHON) -m properdocs build --strict
