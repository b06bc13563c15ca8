#!/usr/bin/env bash
# Builds the release binary and puts it at target/picoclaw: static, for musl, where the toolchain
# has that target or can get it; for the host's own C library otherwise. The one place that knows
# how and where the binary is built.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "build: $1" >&2; exit 1; }
command -v cargo >/dev/null || fail "cargo is not installed; https://rustup.rs installs it"
command -v cc >/dev/null || fail "a C compiler is needed (apt install gcc, dnf install gcc)"

host=$(rustc -vV | sed -n 's/^host: //p')
musl=${host%%-*}-unknown-linux-musl
# What rustc has, not what rustup says: a toolchain may come without rustup.
has_musl() { [ -d "$(rustc --print target-libdir --target "$musl" 2>/dev/null)" ]; }

target=$musl
if ! has_musl; then
  echo "build: adding the Rust target $musl" >&2
  timeout 120 rustup target add "$musl" >/dev/null 2>&1 || true
  if ! has_musl; then
    target=$host
    echo "build: the target $musl cannot be added; building for $host, which needs its C library at run time" >&2
  fi
fi

PICOCLAW_COMMIT=$(git rev-parse --short=12 HEAD 2>/dev/null || true)
export PICOCLAW_COMMIT

# Named in full: the environment and cargo's configuration may set another target or directory.
cargo build --release --locked -p picoclaw-cli --target "$target" --target-dir target
built=target/$target/release/picoclaw
cmp -s "$built" target/picoclaw || install -m 755 "$built" target/picoclaw
