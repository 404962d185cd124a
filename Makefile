# The two commands that matter are `make run` and `make test`; each does all its own set-up. `make check` is for the
# edit loop.
ARGS ?=
# The browser for the template, where none is found: make run BROWSER=/path/to/chrome
BROWSER ?=
FUZZ_SECONDS ?= 600
# What `make bench` measures; everything without it.
PARTS ?=
CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto
# Tests mostly wait for a browser, so several at once for each core; with many more each waits for the others.
export RUST_TEST_THREADS ?= $(shell expr 2 + 3 \* $$(nproc))

.PHONY: run test test-programs bench transcript fuzz audit build lint lint-js check setup setup-bench setup-test clean help

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

run: setup build ## Install what is missing, build, try the browser on the demo shop, then serve (ARGS=--once stops before serving)
	@script/run $(ARGS) $(if $(BROWSER),--browser $(BROWSER))

build: ## Build the release binaries
	$(CARGO) build --release -p stockade -p bridge

# The first run of cargo builds every program that a test starts, also those of other crates, and runs nothing.
test: setup-test lint ## Everything that must hold, with all its set-up
	$(CARGO) test --workspace --no-run --quiet
	rm -rf target/codes && mkdir -p target/codes
	STOCKADE_CODES_SEEN=$(CURDIR)/target/codes $(CARGO) test --workspace --no-fail-fast
	@script/codes target/codes

# Unit tests are those in src/. What needs a browser, a network, a service or another program of the workspace is in a
# crate's tests/ folder.
check: lint ## Format, clippy, unit tests and the architecture: what an edit needs, in under a minute
	$(CARGO) test --workspace --lib --test architecture --quiet

test-programs: ## Build the programs that tests start
	$(CARGO) build --workspace --bins --examples

lint: lint-js ## Formatting, clippy, rustdoc, JavaScript; warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --workspace --no-deps --quiet

lint-js: ## Types and rules of all JavaScript, with what setup-test installs
	@script/javascript

bench: setup-bench build ## Ratios to bare Chromium and to tinyproxy, all from one run (PARTS="proxy effects" for less)
	$(CARGO) bench --bench ratios -- $(PARTS)

transcript: setup-test build ## Write the pages in docs/transcripts, by doing what they show
	@script/transcript --write

fuzz: setup-test ## Ten minutes of broken input for each reader of credentials and of traffic (FUZZ_SECONDS=60 for less)
	STOCKADE_FUZZ_SECONDS=$(FUZZ_SECONDS) $(CARGO) test -p vault --test integration fuzz:: -- --nocapture
	STOCKADE_FUZZ_SECONDS=$(FUZZ_SECONDS) $(CARGO) test -p egress --lib fuzz:: -- --nocapture

audit: ## Licences, sources and known vulnerabilities of all dependencies, with cargo-deny
	@CARGO="$(CARGO)" script/audit

setup: ## Install what the browser needs on this machine
	@script/setup run $(if $(BROWSER),--browser $(BROWSER))

setup-bench: ## The same, plus pages and a proxy to compare with
	@script/setup bench

setup-test: ## The same, plus what the tests compare with
	@script/setup test

clean: ## Remove build results
	$(CARGO) clean
