# make lab    JupyterLab on the first notebook, from nothing
# make test   everything that is tested, from nothing
# make test-without-browser   the same but for what needs a browser
# make check  style, types, layers, generated files, language (make --jobs=2 check: two of them at a time)
# make extras  the bare package and each extra in an environment of its own: what each promises works with what it installs
# make fuzz   looks for inputs that break a law, each fuzzer for FUZZ seconds (make fuzz FUZZ=3600); kills and repeats more often than make test
# make bench  the benchmarks (make bench BENCHES="dispatch grep": some), their figures in docs/performance.md; fails where a bar is missed
# make build  the wheel and the sdist, in dist/
# make wire   the TypeScript models in labextension/src from the Python models
# make translations   the catalogues in nbtools/locale from the strings in labextension/src
# make docs   the documentation site, in build/docs: from this checkout alone, without a network
# make lite   the site with JupyterLite in it, which reads logs in the browser; takes Pyodide from npm and PyPI
# make notebooks  runs the tutorials whose sources have changed, and stores their outputs in them
# make dialects   docs/dialects.md from nbtools/dialects
# make clean  takes back all of it, the virtual environment too

# The first Python that is new enough; name another with PYTHON=...
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
JOBS ?= 4 # processes for the tests, which often wait: for a browser, a kernel, a timeout
BIN := $(VENV)/bin
DONE := .make
PYTEST = PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTEST_PLUGINS=tests.plugins $(BIN)/python -m pytest -n $(JOBS) --no-loadscope-reorder --nbval-lax --durations=20
SCRIPTS := labextension/scripts
NOTEBOOK := notebooks/01_first_calls.ipynb
FRONT_END := $(wildcard labextension/*.json labextension/yarn.lock labextension/scripts/*.mjs labextension/src/*.ts* labextension/src/*/*.ts* labextension/src/*/*/*.ts* labextension/schema/* labextension/style/*)
LITE := docs/lite/package.json docs/lite/yarn.lock docs/lite/requirements.txt
SITE := -m sphinx -E -W --keep-going -q -b html -c docs
SERVERS := tests/mcp_servers/package.json tests/mcp_servers/yarn.lock
CHECKS := types style front-end-style layers generated language

.PHONY: lab test test-without-browser check extras fuzz bench build wire translations docs lite notebooks dialects clean
.PHONY: $(CHECKS:%=check-%)
.DELETE_ON_ERROR:

lab: $(DONE)/environment $(DONE)/front-end
	@exec $(BIN)/python $(SCRIPTS)/open_lab.py $(NOTEBOOK)

test: $(DONE)/python $(DONE)/front-end $(DONE)/browser $(DONE)/servers $(DONE)/lite
	@$(BIN)/python tests/precompile.py
	@NBTOOLS_BROWSER="$${NBTOOLS_BROWSER:-$$(cat $(DONE)/browser)}" $(PYTEST) tests notebooks

test-without-browser: $(DONE)/python $(DONE)/front-end $(DONE)/servers
	@$(BIN)/python tests/precompile.py
	@$(PYTEST) -m "not browser" tests notebooks

check: $(CHECKS:%=check-%)

$(CHECKS:%=check-%): $(DONE)/python $(DONE)/front-end

check-types:
	$(BIN)/mypy

check-style:
	$(BIN)/ruff check
	$(BIN)/ruff format --check

check-front-end-style:
	@$(BIN)/python $(SCRIPTS)/front_end.py lint

check-layers:
	$(BIN)/lint-imports

check-generated:
	$(BIN)/python $(SCRIPTS)/wire_types.py --check
	$(BIN)/python docs/scripts/notebooks.py --check
	$(BIN)/python docs/scripts/performance.py --check

check-language:
	$(BIN)/python .ci/language.py

extras: $(DONE)/python $(DONE)/front-end
	@$(BIN)/python .ci/extras.py $(DONE)/extras

FUZZ ?= 300
ROUNDS := tests/faults tests/lesson/test_recorded_model.py tests/traces/corpus/test_concurrent.py tests/traces/reviews/test_store.py tests/test_endurance.py \
	tests/workspace/processes/test_supervisor.py tests/browser/test_trace.py tests/browser/test_shared_page.py \
  tests/workspace/files/test_escape.py tests/shell/test_differential.py tests/traces/test_generated.py tests/dialects/test_replies.py \
  tests/traces/explorer/export/test_safe_markdown.py
fuzz: $(DONE)/python $(DONE)/front-end $(DONE)/browser
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile=search tests
	@NBTOOLS_BROWSER="$${NBTOOLS_BROWSER:-$$(cat $(DONE)/browser)}" $(BIN)/python -m pytest --all-rounds --hypothesis-profile=search $(ROUNDS)
	@for target in tests/fuzz/*_target.py; do $(BIN)/python $$target -max_len=400 -max_total_time=$(FUZZ) -artifact_prefix=$(DONE)/ || exit; done
	$(BIN)/python tests/fuzz/run_allowed.py --seconds $(FUZZ)
	$(BIN)/python tests/fuzz/run_scripts.py --seconds $(FUZZ)
	$(BIN)/python tests/fuzz/run_options.py --seconds $(FUZZ)

bench: $(DONE)/python
	@$(BIN)/python bench/run.py --record $(BENCHES); missed=$$?; $(BIN)/python docs/scripts/performance.py; exit $$missed

build: $(DONE)/environment $(DONE)/front-end
	$(BIN)/python -m build

translations: $(DONE)/python $(DONE)/front-end
	$(BIN)/python $(SCRIPTS)/translations.py

wire: $(DONE)/python
	$(BIN)/python $(SCRIPTS)/wire_types.py

docs: $(DONE)/python $(DONE)/front-end
	$(BIN)/python $(SITE) . build/docs
	@echo "build/docs/index.html"

lite: $(DONE)/python $(DONE)/front-end $(DONE)/lite
	$(BIN)/python $(SITE) -t lite . build/docs
	@$(BIN)/python docs/scripts/lite.py build/docs/lite

notebooks: $(DONE)/python
	$(BIN)/python docs/scripts/notebooks.py

dialects: $(DONE)/python
	$(BIN)/python -m nbtools.dialects.table > docs/dialects.md

clean:
	rm -rf $(DONE) $(VENV) build dist nbtools/labextension labextension/lib labextension/node_modules tests/mcp_servers/node_modules docs/lite/node_modules

# What JupyterLab, the notebooks that it opens and the build of the front end need; what the tests need comes on top.
$(DONE)/environment: pyproject.toml $(SCRIPTS)/environment.py
	@test -n "$(PYTHON)" || { echo "nbtools needs Python 3.11 or newer: install it, or name it with make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) $(SCRIPTS)/environment.py $(VENV) all,tutorials,build
	@mkdir -p $(DONE) && touch $@

$(DONE)/python: $(DONE)/environment
	@$(PYTHON) $(SCRIPTS)/environment.py $(VENV) test
	@touch $@

$(DONE)/front-end: $(FRONT_END) $(SCRIPTS)/front_end.py | $(DONE)/environment
	@$(BIN)/python $(SCRIPTS)/front_end.py
	@touch $@

$(DONE)/servers: $(DONE)/python $(SERVERS) $(SCRIPTS)/mcp_servers.py
	@$(BIN)/python $(SCRIPTS)/mcp_servers.py
	@touch $@

$(DONE)/lite: $(DONE)/python $(LITE) docs/scripts/lite.py
	@$(BIN)/python docs/scripts/lite.py
	@touch $@

$(DONE)/browser: $(DONE)/python
	@$(BIN)/python $(SCRIPTS)/find_browser.py > $@
