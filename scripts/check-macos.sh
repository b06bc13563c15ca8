#!/usr/bin/env bash
# Checks that the program compiles for macOS without warnings; what cannot be checked here is added to the list of skips.
set -euo pipefail
cd "$(dirname "$0")/.."

target=aarch64-apple-darwin
skips=${PICOCLAW_SKIPS-/dev/null}

has_target() { [ -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ]; }
has_target || timeout 120 rustup target add "$target" >/dev/null 2>&1 || true
if ! has_target; then
  why="the Rust target $target cannot be added"
  echo "check-macos: $why" >&2
  printf 'script\tthe compile check for macOS\t%s\n' "$why" >> "$skips"
  exit
fi
# A check links nothing: without a compiler for macOS the parts of the TLS library in C are left out.
export CC_aarch64_apple_darwin=${CC_aarch64_apple_darwin-true} AR_aarch64_apple_darwin=${AR_aarch64_apple_darwin-true}
cargo clippy -p picoclaw-policy -p picoclaw-sys -p picoclaw-sandbox -p picoclaw-agent -p picoclaw-cli \
  --locked --quiet --target "$target" -- -D warnings
