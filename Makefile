# The habits of this project. `make` alone lists them.
PYTHON ?= python

.DEFAULT_GOAL := help
.PHONY: help setup run quick quick-engine quick-rest test ui long gpu lint type bench docs site

help: ## list the habits
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install the project with everything needed to work on it
	$(PYTHON) -m pip install -c constraints.txt -e '.[starter,test]'

run: ## launch the app
	$(PYTHON) -m app.cli

# Two processes rather than two workers of one: neither has to import what only the other half needs.
QUICK = OMP_NUM_THREADS=1 $(PYTHON) -m pytest -q -m 'not ui and not long and not slow'

quick: ## the tests to run at every change, in a minute
	@$(MAKE) -j2 -k --no-print-directory --output-sync quick-engine quick-rest

quick-engine:
	$(QUICK) tests/engine

quick-rest:
	$(QUICK) tests --ignore=tests/engine --ignore=tests/ui

test: ## all tests but those in a browser
	$(PYTHON) -m pytest

ui: ## the tests in a real browser (needs chromium)
	$(PYTHON) -m pytest tests/ui -m 'ui and not long'

long: ## what takes long, and every extra; stopped, it goes on with what has not passed yet
	$(PYTHON) -m tests.long

gpu: ## the tests of an Nvidia GPU, which run with the others where there is one
	$(PYTHON) -m pytest -m gpu

lint: ## style and mistakes, Python and JavaScript
	ruff check .
	ruff format --check .
	@for f in $$(git ls-files '*.js'); do node --check "$$f" || exit 1; done
	node --test tests/js/

type: ## static types
	mypy

# Those that train for hours, each into a folder that it is given.
STUDIES = simcse decoders architectures

bench: ## every performance claim, measured here and now
	@for f in $(filter-out claims $(STUDIES),$(basename $(notdir $(wildcard benchmarks/[a-z]*.py)))); do $(PYTHON) -m benchmarks.$$f || missed="$$missed $$f"; done; test -z "$$missed" || { echo "missed:$$missed"; exit 1; }

docs: ## the pictures of the README and the site, taken from a running app
	$(PYTHON) -m docs.pictures

site: ## the documentation as a site, into build/site
	$(PYTHON) -m properdocs build --strict
