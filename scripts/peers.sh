#!/usr/bin/env bash
# Fetches the clients and servers of others that the tests and `make bench` talk to, each in one fixed version.
# They lie in target/peers, are fetched once, and are never part of what is built. Says loudly what is missing.
set -u
cd "$(dirname "$0")/.."
peers="$PWD/target/peers"
mkdir -p "$peers"

python_pin="mcp==2.3.0"
openai_pin="openai==3.49.0"
schemathesis_pin="schemathesis==4.32.5"
browser_pin="playwright-core@1.65.0"
node_pins=(
  "@modelcontextprotocol/sdk@1.32.2"
  "@modelcontextprotocol/client@2.4.0"
  "@modelcontextprotocol/inspector@2.12.0"
  "@modelcontextprotocol/server-filesystem@2026.8.31"
  "@modelcontextprotocol/server-everything@2026.8.31"
)

# A stamp is written last: half of an installation is none.
stamped() { [ "$(cat "$1" 2>/dev/null)" = "$2" ]; }

if ! stamped "$peers/python/stamp" "$python_pin"; then
  rm -rf "$peers/python"
  if command -v python3 >/dev/null && python3 -m venv "$peers/python" >/dev/null 2>&1 &&
    timeout 300 "$peers/python/bin/pip" install --quiet --disable-pip-version-check "$python_pin" >/dev/null 2>&1; then
    echo "$python_pin" > "$peers/python/stamp"
    echo "setup: $python_pin"
  else
    echo "SKIPPED: the Python SDK ($python_pin) could not be had; tests that talk to it will say so"
  fi
fi

if ! stamped "$peers/openai/stamp" "$openai_pin"; then
  rm -rf "$peers/openai"
  if command -v python3 >/dev/null && python3 -m venv "$peers/openai" >/dev/null 2>&1 &&
    timeout 300 "$peers/openai/bin/pip" install --quiet --disable-pip-version-check "$openai_pin" >/dev/null 2>&1; then
    echo "$openai_pin" > "$peers/openai/stamp"
    echo "setup: $openai_pin"
  else
    echo "SKIPPED: the chat client ($openai_pin) could not be had; tests that talk to it will say so"
  fi
fi

if ! stamped "$peers/schemathesis/stamp" "$schemathesis_pin"; then
  rm -rf "$peers/schemathesis"
  if command -v python3 >/dev/null && python3 -m venv "$peers/schemathesis" >/dev/null 2>&1 &&
    timeout 300 "$peers/schemathesis/bin/pip" install --quiet --disable-pip-version-check "$schemathesis_pin" >/dev/null 2>&1; then
    echo "$schemathesis_pin" > "$peers/schemathesis/stamp"
    echo "setup: $schemathesis_pin"
  else
    echo "SKIPPED: the reader of API documents ($schemathesis_pin) could not be had; tests that need it will say so"
  fi
fi

# The browser itself is the system's (see setup.sh); this only drives it, and downloads none.
if ! stamped "$peers/browser/stamp" "$browser_pin"; then
  rm -rf "$peers/browser"
  mkdir -p "$peers/browser"
  echo '{"private": true}' > "$peers/browser/package.json"
  if command -v npm >/dev/null &&
    (cd "$peers/browser" && timeout 300 npm install --no-audit --no-fund --ignore-scripts --silent "$browser_pin" >/dev/null 2>&1); then
    echo "$browser_pin" > "$peers/browser/stamp"
    echo "setup: $browser_pin"
  else
    echo "SKIPPED: $browser_pin could not be had; the console is not tried in a browser"
  fi
fi

if ! stamped "$peers/node/stamp" "${node_pins[*]}"; then
  rm -rf "$peers/node"
  mkdir -p "$peers/node"
  echo '{"private": true}' > "$peers/node/package.json"
  if command -v npm >/dev/null &&
    (cd "$peers/node" && timeout 300 npm install --no-audit --no-fund --ignore-scripts --silent "${node_pins[@]}" >/dev/null 2>&1); then
    echo "${node_pins[*]}" > "$peers/node/stamp"
    echo "setup: ${node_pins[*]}"
  else
    echo "SKIPPED: the npm packages could not be had (${node_pins[*]}); tests that talk to them will say so"
  fi
fi
exit 0
