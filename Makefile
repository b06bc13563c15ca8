# picoclaw: every target says what it does in `make help`.
SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO ?= cargo
MUSL := x86_64-unknown-linux-musl
# The static target where the toolchain has it or can get it; the host's own otherwise.
TARGET := $(shell rustup target list --installed 2>/dev/null | grep -qx $(MUSL) && echo $(MUSL))
# One dependency has a little C in it that uses no C library: without a compiler for musl, the host's own will do.
export CC_x86_64_unknown_linux_musl ?= $(shell command -v x86_64-linux-musl-gcc || command -v musl-gcc || command -v cc)
RELEASE := target/$(if $(TARGET),$(TARGET)/)release/picoclaw

.PHONY: help run tour build test soak bench lint fmt fuzz check setup musl install clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

run: build ## start a session with an agent (ARGS='-m "ls"' for one turn); the tour where there is no terminal
	@if [ -n '$(subst ','\'',$(ARGS))' ] || [ -t 0 -a -t 1 ]; then $(RELEASE) agent $(ARGS); else PICOCLAW=$(RELEASE) bash scripts/tour.sh; fi

tour: build ## take a short tour on an instance of its own: tools, refusals, the ledger
	@PICOCLAW=$(RELEASE) bash scripts/tour.sh

build: musl ## build the release binary (static where the musl target can be added)
	@if rustup target list --installed 2>/dev/null | grep -qx $(MUSL); then \
	  $(CARGO) build --release --locked -p picoclaw-cli --target $(MUSL); \
	else \
	  $(CARGO) build --release --locked -p picoclaw-cli; \
	fi

musl:
	@rustup target list --installed 2>/dev/null | grep -qx $(MUSL) \
	  || timeout 120 rustup target add $(MUSL) >/dev/null 2>&1 \
	  || echo "note: the target $(MUSL) cannot be added here; building for the host's own C library"

setup: ## install what the tests need and this machine lacks (bubblewrap, tmux, Chromium, clients of others)
	@bash scripts/setup.sh

test: setup ## run every test (small counts; as root and as an ordinary user)
	@bash scripts/test.sh

soak: setup ## run the tests with their full counts (minutes, not seconds)
	@PICOCLAW_SOAK=1 bash scripts/test.sh

bench: build ## measure speed and memory against peers, in one run
	@PICOCLAW=$(RELEASE) bash bench/run.sh

lint: ## formatting, clippy without warnings, licences and bans
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@if command -v cargo-deny >/dev/null; then cargo deny check; else echo "SKIPPED: cargo-deny is not installed; deny.toml was not checked"; fi

fmt: ## format the sources
	@$(CARGO) fmt --all

fuzz: ## fuzz each target for a minute (FUZZ_SECONDS=n for longer)
	@bash scripts/fuzz.sh

check: lint test ## what must hold before a change is offered

install: build ## copy the binary to ~/.local/bin
	@install -Dm755 $(RELEASE) $(HOME)/.local/bin/picoclaw && echo "installed $(HOME)/.local/bin/picoclaw"

clean: ## remove what was built
	@$(CARGO) clean
