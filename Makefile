# `make help` lists what can be made. Needed: python3 3.10 or newer, cargo, make.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# The binding is built for the interpreter of the virtual environment, by whichever command
# builds it, so that one command does not undo the work of another.
export PYO3_PYTHON := $(abspath $(BIN)/python)

# Where rustup's default compiler is the one of rust-toolchain.toml under another name, such as stable,
# that one is used, and nothing downloaded.
RUST := $(shell sed -n 's/^channel = "\(.*\)"$$/\1/p' rust-toolchain.toml)
ifeq ($(shell cd / && rustup run "$$(rustup default 2>/dev/null | cut -d' ' -f1)" rustc --version 2>/dev/null | cut -d' ' -f2),$(RUST))
export RUSTUP_TOOLCHAIN ?= $(shell cd / && rustup default | cut -d' ' -f1)
endif

RUST_SOURCES := $(shell find crates transfer -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
TOOLS := $(VENV)/.tools-installed
BUILT := $(VENV)/.fairway-built
# There if that build is the one of wheels.
FULL := $(VENV)/.fairway-full
# What runs inside of a Linux kernel; packed into the package.
AGENT := python/fairway/bin/fairway-guest
NETWORK := python/fairway/bin/libfairway-network.so
# What draws charts in reports.
CHARTS := python/fairway/plot/library/vega-embed.js

# Writes which commit the package is built of.
COMMIT := $(BIN)/python tools/commit.py
# Refuses what lacks one of these.
PACKED := $(BIN)/python tools/packed.py

# The simulator of the page, and what it is compiled for.
LAB := python/fairway/lab/page/built/lab.wasm
WASM := wasm32-unknown-unknown
LAB_FLAGS ?=

.PHONY: help build wheel sdist demo linux lab test test-rust test-python check soak crashes failures fuzz fuzz-corpus miri sanitize mutants format lint lint-format lint-rust lint-python lint-docs audit bench bench-all goldens docs clean

help:
	@echo "make demo     set up, run a first experiment, reproduce a published study: tables and HTML reports"
	@echo "make build    set up, build and install fairway into $(VENV)"
	@echo "make wheel    a wheel of this version in dist/, which installs without Rust; make sdist its sources"
	@echo "make linux    build the Linux kernel for --backend linux, if it is not there (minutes)"
	@echo "make lab      the laboratory as a page, in site/lab/ and for \`fairway lab\`"
	@echo "make test     every test, Rust and Python"
	@echo "make check    format, lints, types and the unit tests of what changed since origin/main (BASE=COMMIT)"
	@echo "make soak     random experiments, walks, fuzzers and disturbed transfers for MINUTES=60"
	@echo "make failures  commands whose calls of the system, and allocations, fail in turn; CASES chooses commands"
	@echo "make fuzz     the readers of outside data under a fuzzer, SECONDS=60 for each of TARGETS"
	@echo "make miri     the tests of unsafe code under Miri; make sanitize, under sanitizers"
	@echo "make mutants  changes to CRATES=\"cc net tcp\" that no test of theirs notices, SAMPLE=100 of which one is tried"
	@echo "make format   format the sources"
	@echo "make lint     formatting, lints, types, the stub of the compiled module, and make audit"
	@echo "make audit    licences, sources and known vulnerabilities of the dependencies"
	@echo "make bench    speed beside ns-2, ns-3, htsim, iperf3, tcptrace and tshark, as far as they are installed"
	@echo "make bench-all   the same with more figures, and the models, algorithms and readers of captures"
	@echo "make goldens  accept the windows of the algorithms as they are now"
	@echo "make docs     the documentation as a web site, in site/"
	@echo "make docs-figures  the documentation's figures and numbers again, from new runs"
	@echo "make clean    remove everything that these commands made, except runs/"

# Python sources are used in place, so the commit may be another without anything to compile.
build: $(BUILT)
	@$(COMMIT)

# Zig, a linker among other things, links against an older glibc than this machine's: the wheel is for
# every Linux since 2014. Without one, a wheel built on Debian 12 asks for 2.34. So does the agent for
# kernels: linked statically, its transfers do not end.
GLIBC ?= 2_17
ZIG := $(VENV)/.zig-installed
# The same commit gives the same bytes wherever it is built: with its time (reproducible-builds.org,
# SOURCE_DATE_EPOCH; the first that a ZIP file can have without git) and without paths of this machine.
EPOCH = SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 315532800)
REPRODUCIBLE = $(EPOCH) RUSTFLAGS="--remap-path-prefix=$(CURDIR)=fairway --remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}=cargo $${RUSTFLAGS:-}"
wheel: $(TOOLS) $(ZIG) $(CHARTS) $(LAB)
	$(REPRODUCIBLE) cargo build --release --locked --quiet --package fairway-guest --package fairway-emulator
	@install -D --strip --mode=755 "$${CARGO_TARGET_DIR:-target}/release/fairway-guest" $(AGENT)
	@install -D --strip --mode=755 "$${CARGO_TARGET_DIR:-target}/release/libfairway_emulator.so" $(NETWORK)
	@rm -f dist/*.whl
	@$(COMMIT)
	$(REPRODUCIBLE) PATH=$(abspath $(BIN)):$$PATH $(BIN)/maturin build --release --locked --quiet --zig --compatibility manylinux_$(GLIBC) --out dist
	@$(PACKED) dist/*.whl

$(ZIG): $(TOOLS) requirements/wheel.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/wheel.lock
	@touch $@

sdist: $(TOOLS) $(CHARTS) $(LAB)
	@rm -f dist/*.tar.gz
	@$(COMMIT)
	$(EPOCH) $(BIN)/maturin sdist --out dist
	@$(PACKED) dist/*.tar.gz

demo: $(BUILT)
	$(BIN)/fairway run examples/single.toml --out runs/first
	$(BIN)/fairway reproduce gelle2008 --quick --part pairs

linux: $(BUILT)
	$(BIN)/fairway linux build

# Any server of static files can serve site/lab.
lab: $(LAB)
	$(BIN)/python -m fairway.lab.build --site site/lab

$(LAB): $(BUILT) $(RUST_SOURCES) $(wildcard python/fairway/lab/*.py python/fairway/plot/templates/* python/fairway/exercises/*.py python/fairway/exercises/*/*.toml examples/*.toml)
	@test -n "$(LAB_FLAGS)" -o -d "$$(rustc --print target-libdir --target $(WASM))" \
		|| rustup target add $(WASM) \
		|| { echo "Rust cannot compile for $(WASM): \`rustup target add $(WASM)\` failed; docs/commands/lab.md has the way without rustup" >&2; exit 1; }
	@echo "Building the simulator for the page (about two minutes the first time)"
	@cargo build --profile page --locked --quiet --package fairway-lab --target $(WASM) $(LAB_FLAGS)
	@$(BIN)/python -m fairway.lab.build "$${CARGO_TARGET_DIR:-target}/$(WASM)/page/fairway_lab.wasm"

test: test-rust test-python

# The transfer tools are a workspace of their own, with the same target directory (transfer/.cargo/config.toml).
IN_TRANSFER := cd transfer &&

# The binding is tested from Python: a Rust test of it would need Python's development files.
test-rust: $(TOOLS)
	cargo test --workspace --exclude fairway-py --locked
	$(IN_TRANSFER) cargo test --workspace --locked

# The page's simulator is optional; an old one would differ from the core.
test-python: $(BUILT) $(wildcard $(LAB))
	$(BIN)/python -m pytest -n logical --dist worksteal

# Transfers between two simulated hosts whose disk, network and power fail (FAIRWAY_CRASHES of them), or with
# a liar at either end (FAIRWAY_LIARS), and commands of which each call on files fails: STORE_CRASHES calls
# of each command and kind of failure, or all.
STORE_CRASHES ?= all
crashes: $(BUILT)
	$(IN_TRANSFER) cargo test --quiet --locked --release --package fairway-xfer --lib -- crash liars
	FAIRWAY_STORE_CRASHES=$(STORE_CRASHES) $(BIN)/python -m pytest -n logical --dist worksteal -q tests/python/test_crashes.py

# Commands of which each call of the system fails in turn, and pieces of work of which each allocation
# does; CASES chooses commands (tests/python/failing_cases.py). `make test` tries a sample.
CASES ?=
failures: $(BUILT)
	FAIRWAY_REFUSALS=all cargo test --quiet --locked --package fairway-sweep --test refused
	cd tests/python && $(abspath $(BIN))/python failing_cases.py $(foreach case,$(CASES),--of $(case))
	FAIRWAY_EVERY_LIMIT=1 $(BIN)/python -m pytest tests/python/test_memory_limits.py -q -n logical

# The inner loop: it builds no core, so Python tests use the one of the last build.
check: $(TOOLS)
	$(BIN)/python tools/check.py $(BASE)

# What is found is printed with what finds it again; an experiment as the smallest that still fails.
MINUTES ?= 60
soak: $(BUILT)
	$(BIN)/python tests/python/soak.py --minutes $(MINUTES)

# The fuzzer needs a nightly compiler and cargo-fuzz, and installs what is missing. Inputs that run
# new code stay in fuzz/found, inputs that break a target in fuzz/artifacts. `make fuzz-corpus` merges
# fuzz/found into the corpus and drops inputs that add no coverage. Fairway has no unsafe code, but its
# libraries have: AddressSanitizer watches them where the compiler has it (the Rust unstable book,
# "sanitizer": Linux with glibc on these two).
SECONDS ?= 60
TARGETS ?= capture text packet gzip experiment trace script frame admission iperf3 journal parquet
SANITIZER ?= $(if $(filter x86_64 aarch64,$(shell uname -m)),address,none)
FUZZER := cargo +nightly fuzz
# Freed memory that the sanitizer holds back counts against the limit of a target's memory.
export ASAN_OPTIONS ?= quarantine_size_mb=64

# One archive a target; the same files always give the same bytes.
unpack_corpus = mkdir -p fuzz/found/$$target fuzz/corpus/$$target; \
	tar -xzf fuzz/corpus/$$target.tar.gz -C fuzz/corpus/$$target
pack_corpus = LC_ALL=C ls fuzz/corpus/$$target \
	| tar -c -C fuzz/corpus/$$target --format=ustar --mtime=@0 --mode=644 --owner=0 --group=0 --numeric-owner -T - \
	| gzip -9n > fuzz/corpus/$$target.tar.gz

fuzz:
	@command -v rustup >/dev/null || { echo "rustup not found: it is needed to install a nightly compiler, see https://rustup.rs" >&2; exit 1; }
	@rustup run nightly rustc --version 2>/dev/null || rustup toolchain install nightly --profile minimal
	@cargo fuzz --version 2>/dev/null || cargo install cargo-fuzz --locked --version 0.13.2
	for target in $(TARGETS); do \
		case $$target in \
			experiment|trace) seeds=examples ;; \
			script) seeds=tests/scripts ;; \
			frame|admission|iperf3|journal|parquet) seeds= ;; \
			*) seeds=tests/captures ;; \
		esac; \
		$(unpack_corpus); \
		$(FUZZER) run --sanitizer $(SANITIZER) $$target fuzz/found/$$target fuzz/corpus/$$target $$seeds -- \
			-max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=512 -max_len=8192 -print_final_stats=1; \
	done

fuzz-corpus:
	for target in $(TARGETS); do \
		$(unpack_corpus); \
		mkdir -p fuzz/smaller; \
		$(FUZZER) run --sanitizer $(SANITIZER) $$target fuzz/smaller fuzz/found/$$target fuzz/corpus/$$target -- \
			-set_cover_merge=1 -use_counters=0 -max_len=8192; \
		rm -rf fuzz/corpus/$$target; \
		mv fuzz/smaller fuzz/corpus/$$target; \
		$(pack_corpus); \
	done

# The tests of code with `unsafe`, under an interpreter that finds undefined behaviour, and under
# sanitizers. Both say what they could not run.
miri:
	@$(PYTHON) tools/unsafe_tests.py miri

sanitize:
	@$(PYTHON) tools/unsafe_tests.py sanitize

# One in SAMPLE of the changes to a crate that its own tests should notice, always the same ones;
# SHARD, below SAMPLE, takes others. Those that no test noticed are in mutants/CRATE/mutants.out/missed.txt,
# and are no failure here: many of them change nothing that can be seen.
CRATES ?= cc net tcp
SAMPLE ?= 100
SHARD ?= 0
MUTANTS := $(BIN)/cargo-mutants
mutants: $(TOOLS) $(MUTANTS)
	for crate in $(CRATES); do \
		mkdir -p mutants/$$crate; \
		status=0; \
		$(MUTANTS) mutants --package fairway-$$crate --shard $(SHARD)/$(SAMPLE) --sharding round-robin --no-shuffle \
			--timeout 120 --output mutants/$$crate --cargo-arg=--locked || status=$$?; \
		case $$status in 0|2|3) ;; *) exit $$status ;; esac; \
	done

# As with cargo-deny below, its build takes longer than it runs at full speed would save.
$(MUTANTS):
	CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off \
		cargo install cargo-mutants --quiet --locked --version 27.1.0 --root $(VENV)

format:
	cargo fmt --all
	$(IN_TRANSFER) cargo fmt --all
	$(BIN)/ruff format

lint: lint-format lint-rust lint-python lint-docs audit

lint-format: $(TOOLS)
	cargo fmt --all --check
	$(IN_TRANSFER) cargo fmt --all --check
	$(BIN)/ruff format --check
	$(BIN)/ruff check

lint-rust: $(TOOLS)
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(IN_TRANSFER) cargo clippy --workspace --all-targets --locked -- -D warnings

lint-python: $(BUILT)
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml fairway._core

lint-docs: $(BUILT)
	$(BIN)/python tools/docs/figures.py --check
	$(BIN)/python tools/docs/fidelity.py --check
	$(BIN)/python tools/docs/walls.py --check

# Licences, bans and sources need no network. Advisories do: where their data cannot be reached, a
# line says so, and what could be checked decides; with ADVISORIES=required, as for a release, it fails.
ADVISORIES ?=
DENY := $(BIN)/cargo-deny
MANIFESTS := Cargo.toml transfer/Cargo.toml fuzz/Cargo.toml
LOCKS := $(wildcard requirements/*.lock)
CHECK_CRATES := $(DENY) --config deny.toml
audit: $(TOOLS) $(DENY)
	for manifest in $(MANIFESTS); do \
		$(CHECK_CRATES) --manifest-path $$manifest check --allow license-exception-not-encountered licenses bans sources; \
	done
	if $(CHECK_CRATES) fetch db 2>/dev/null; then \
		for manifest in $(MANIFESTS); do $(CHECK_CRATES) --manifest-path $$manifest check advisories; done; \
	else \
		echo "Advisories of crates not checked: their database cannot be reached." >&2; \
		test "$(ADVISORIES)" != required; \
	fi
	$(BIN)/python tools/advisories.py $(if $(ADVISORIES),--required) $(LOCKS)

# Compiled for its build time, not its speed: it runs for a second.
$(DENY):
	CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off \
		cargo install cargo-deny --quiet --locked --version 0.20.2 --no-default-features --root $(VENV)

bench: $(FULL)
	$(BIN)/python benches/table.py

# The same with all that is measured, and what stands beside no other program.
bench-all: $(FULL)
	$(BIN)/python benches/run.py
	$(BIN)/python benches/networks.py
	$(BIN)/python benches/linux.py
	$(BIN)/python benches/xfer.py
	$(BIN)/python benches/analyze.py
	$(BIN)/python benches/model.py
	$(BIN)/python benches/sweep.py --dask
	cargo bench --quiet --locked --package fairway-cc --bench ack
	cargo bench --quiet --locked --package fairway-capture --bench read

# Accept the windows that the algorithms have now; `git diff` shows what changed.
goldens:
	INSTA_UPDATE=always cargo test --quiet --locked --package fairway-cc --test all goldens

# MkDocs empties site/ first.
docs: $(BUILT) $(LAB)
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict
	$(BIN)/python -m fairway.lab.build --site site/lab

# After a change of an algorithm or of the stack: lint finds out which figures it has changed.
docs-figures: $(BUILT)
	$(BIN)/python tools/docs/figures.py
	$(BIN)/python tools/docs/fidelity.py

clean:
	rm -rf $(VENV) target target-* fuzz/target fuzz/found fuzz/corpus/*/ mutants site .mypy_cache .ruff_cache .pytest_cache
	find python tests -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/fairway/_core*.so
	rm -rf python/fairway/bin python/fairway/lab/page/built dist
	rm -f $(CHARTS)

# The pinned packages. Neither needs this project built.
$(TOOLS): requirements/dev.lock
	@command -v cargo >/dev/null || { echo "cargo not found: install Rust, see https://rustup.rs" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "$(PYTHON) is too old or missing: Python 3.10 or newer is needed; name another with make PYTHON=…" >&2; exit 1; }
	@echo "Installing the pinned Python packages into $(VENV) (downloads them the first time: a minute or more)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@touch $@

$(CHARTS): $(TOOLS) tools/chart_library.py
	@$(BIN)/python tools/chart_library.py

# Compiles with a profile of Cargo.toml. Bytecode is compiled too: some environments have Python write none.
# The stamp is as old as the beginning, so that what changed meanwhile is built next time; the packages
# that it needs are there already, so pip has nothing to say but that.
define compile
	@rm -f $(FULL)
	@touch $(BUILT).begun
	@VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 $(BIN)/maturin develop --profile $(1) --locked --quiet
	@cargo build --profile $(1) --locked --quiet --package fairway-guest --package fairway-emulator
	@install -D --strip --mode=755 "$${CARGO_TARGET_DIR:-target}/$(1)/fairway-guest" $(AGENT)
	@$(COMMIT)
	@install -D --strip --mode=755 "$${CARGO_TARGET_DIR:-target}/$(1)/libfairway_emulator.so" $(NETWORK)
	@$(BIN)/python -m compileall -q python/fairway
	@mv $(BUILT).begun $(BUILT)
endef

# Python sources are used in place, so only Rust sources and the package's metadata count.
SOURCES := $(TOOLS) $(RUST_SOURCES) pyproject.toml
$(BUILT): $(SOURCES) $(CHARTS)
	@echo "Building fairway (about two minutes on two idle cores the first time)"
	$(call compile,quick)

$(FULL): $(SOURCES) $(CHARTS)
	@echo "Building fairway as for wheels (about three minutes on two idle cores the first time)"
	$(call compile,release)
	@touch -r $(BUILT) $@
