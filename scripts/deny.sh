#!/usr/bin/env bash
# Checks licences, banned crates and sources with cargo-deny, which is built into target/tools when
# it is not installed. Advisories are left out: they need a network.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.20.2
PATH=$PWD/target/tools/bin:$PATH
if ! command -v cargo-deny >/dev/null; then
  echo "setup: building cargo-deny $version"
  CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false cargo install --quiet --locked --debug --root target/tools --target-dir target/tools/build "cargo-deny@=$version" ||
    { echo "deny: cargo-deny could not be installed" >&2; exit 1; }
  rm -rf target/tools/build
fi
[ "${1-}" = --install ] || cargo deny --log-level error check licenses bans sources
