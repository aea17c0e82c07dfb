PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin
DOCS_READY := $(VENV)/.docs-ready
SPHINX := $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --conf-dir docs
# A file's tests run in one worker, which so collects once what they share.
PYTEST := pytest -n auto --dist loadfile --no-loadscope-reorder
MATHJAX := 3.2.2
AXE := 4.14.1

# Tests start many processes, each of which would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install lab reports test slow docs test-docs check prove release libraries clean help

install: $(READY)  ## install the lab into .venv, in some minutes

lab: $(READY)  ## run every experiment with small budgets, in some minutes, and open the page
	$(BIN)/attacklab run --budget 0 --browse

reports: $(READY)  ## run every experiment with its full budget, and rewrite reports/
	$(BIN)/attacklab run --output reports

test: $(READY)  ## run the tests that are not slow, in some two minutes
	$(BIN)/$(PYTEST) --durations=40 -m "not slow" tests --ignore tests/site

slow: $(READY)  ## run those that start processes or take long: whole journeys, in some six minutes
	$(BIN)/$(PYTEST) --durations=40 -m slow tests --ignore tests/site

docs: $(DOCS_READY) site/.node/.ready  ## build the site, in English and Chinese, into site/; its first page is site/index.html
	rm -rf site/en site/zh_CN site/.executed
	$(SPHINX) -D language=en . site/en
	$(SPHINX) -D language=zh_CN . site/zh_CN
	cp docs/languages.html site/index.html

test-docs: $(DOCS_READY)  ## open every page of the site in a browser; `make docs` comes first
	$(BIN)/pytest -n auto --dist worksteal tests/site

site/.node/.ready: Makefile
	npm install --silent --ignore-scripts --no-save --no-package-lock --no-audit --no-fund --prefix $(@D) \
	  mathjax@$(MATHJAX) axe-core@$(AXE)
	mkdir -p $(@D)/static
	cp $(@D)/node_modules/mathjax/es5/tex-svg.js $(@D)/static/
	@touch $@

$(DOCS_READY): $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,docs]'
	@touch $@

check: $(READY)  ## lint, formatting, types and layers: what CI checks besides the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

prove: $(READY)  ## write the certificate of every exact mechanism to reports/proofs/, and have it checked
	$(BIN)/python -m experiments.certificates

release: prove  ## refuse a page or a certificate that older code made; then build the wheel and the sdist into dist/
	$(BIN)/attacklab run --pages --output reports
	git diff --exit-code reports checker
	$(BIN)/python -m hatchling build

PINNED := $(patsubst environments/%.txt,.environments/%/.ready,$(wildcard environments/*.txt))

libraries: $(PINNED)  ## build the environments of real DP libraries, in some eight minutes

.environments/%/.ready: environments/%.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --requirement $<
	@touch $@

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; '$(PYTHON)' is older: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

clean:  ## remove what the other commands made, except reports/
	rm -rf $(VENV) .environments site reports-lab .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

help:  ## list these commands
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/make \1 \2/p' $(firstword $(MAKEFILE_LIST)) | \
	  while read -r make name summary; do printf '%s %-10s %s\n' "$$make" "$$name" "$$summary"; done
