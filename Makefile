# picoclaw: every target says what it does in `make help`.
SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO ?= cargo
PREFIX ?= $(HOME)/.local
# The text as it was given: make expands no `$` in it, the shell does.
override ARGS := $(value ARGS)
export ARGS

.PHONY: help run tour build test test-windows soak everyday bench lint deny fmt fuzz setup install uninstall clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: build ## start a session with an agent (ARGS='-m "ls"' for one turn); the tour where there is no terminal
	@if [ -n "$$ARGS" ] || [ -t 0 -a -t 1 ]; then eval "target/picoclaw agent $$ARGS"; \
	else PICOCLAW=target/picoclaw bash scripts/tour.sh; fi

tour: build ## take a short tour on an instance of its own: tools, refusals, the audit log
	@PICOCLAW=target/picoclaw bash scripts/tour.sh

build: ## build the release binary, target/picoclaw (static where the musl target can be had)
	@bash scripts/build.sh

setup: ## install what the tests need and this machine lacks (bubblewrap, tmux, Chromium, cargo-deny, MCP and OpenAI clients)
	@bash scripts/setup.sh

test: ## format, clippy, licences, every test as root and as an ordinary user, and the release binary
	@bash scripts/test.sh

test-windows: ## test the parts for Windows under Wine (installs mingw-w64 and wine64)
	@bash scripts/test-windows.sh

soak: ## the same with full counts (takes much longer)
	@PICOCLAW_SOAK=1 bash scripts/test.sh

everyday: build ## compare the cage with bubblewrap and sandbox-runtime on everyday tasks (writes docs/everyday.md)
	@PICOCLAW=target/picoclaw bash scripts/everyday.sh

bench: build ## measure speed and memory against peers, in one run
	@PICOCLAW=target/picoclaw bash bench/run.sh

lint: deny ## formatting, clippy without warnings, licences and bans
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

deny: ## licences, banned crates and sources of the dependencies
	@bash scripts/deny.sh

fmt: ## format the sources
	@$(CARGO) fmt --all

fuzz: ## fuzz each target for a minute (FUZZ_SECONDS=n for longer)
	@bash scripts/fuzz.sh

install: build ## install binary, manual pages and completions (PREFIX=~/.local, DESTDIR for packages)
	@bash scripts/install.sh "$(DESTDIR)$(PREFIX)"

uninstall: ## remove what `make install` installed
	@bash scripts/install.sh --remove "$(DESTDIR)$(PREFIX)"

clean: ## remove what was built
	@$(CARGO) clean
