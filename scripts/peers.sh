#!/usr/bin/env bash
# Fetches the clients and servers of others that the tests and `make bench` talk to, each in one
# fixed version. They lie in target/peers, are fetched once, and are never part of what is built.
# Says loudly what is missing.
set -u
cd "$(dirname "$0")/.."
peers="$PWD/target/peers"
mkdir -p "$peers"

# A stamp is written last: half of an installation is none.
stamped() { [ "$(cat "$peers/$1/stamp" 2>/dev/null)" = "$2" ]; }

# python NAME PIN: a Python environment of its own, with one package.
python() {
  stamped "$1" "$2" && return
  rm -rf "${peers:?}/$1"
  if command -v python3 >/dev/null && python3 -m venv "$peers/$1" >/dev/null 2>&1 &&
    timeout 300 "$peers/$1/bin/pip" install --quiet --disable-pip-version-check "$2" >/dev/null 2>&1; then
    echo "$2" > "$peers/$1/stamp"
    echo "setup: $2"
  else
    echo "setup: $2 could not be had; tests that need it are skipped"
  fi
}

# npm_packages NAME PIN…: a directory of npm packages, none of whose scripts is run.
npm_packages() {
  local name=$1
  shift
  stamped "$name" "$*" && return
  rm -rf "${peers:?}/$name"
  mkdir -p "$peers/$name"
  echo '{"private": true}' > "$peers/$name/package.json"
  if command -v npm >/dev/null &&
    (cd "$peers/$name" && timeout 300 npm install --no-audit --no-fund --ignore-scripts --silent "$@" >/dev/null 2>&1); then
    echo "$*" > "$peers/$name/stamp"
    echo "setup: $*"
  else
    echo "setup: $* could not be had; tests that need it are skipped"
  fi
}

python python "mcp==2.3.0"
python openai "openai==3.49.0"
python schemathesis "schemathesis==4.32.5"
python uv "uv==0.13.7"
# The browser itself is the system's (see setup.sh); this only drives it, and downloads none.
npm_packages browser "playwright-core@1.65.0"
npm_packages node \
  "@modelcontextprotocol/sdk@1.32.2" \
  "@modelcontextprotocol/client@2.4.0" \
  "@modelcontextprotocol/inspector@2.12.0" \
  "@modelcontextprotocol/server-filesystem@2026.8.31" \
  "@modelcontextprotocol/server-everything@2026.8.31"
# Coding agents, for the profiles of `picoclaw run`. npm fetches their programs for this machine.
npm_packages agents "@anthropic-ai/claude-code@2.1.325" "@openai/codex@0.166.0"
# What `make everyday` compares with; no test needs it.
if [ "${1:-}" = everyday ]; then npm_packages srt "@anthropic-ai/sandbox-runtime@0.0.83"; fi
exit 0
