#!/usr/bin/env bash
# Checks that the program compiles for Windows, macOS and Linux on ARM without warnings; what cannot
# be checked here is added to the list of skips.
set -euo pipefail
cd "$(dirname "$0")/.."

has_target() { [ -d "$(rustc --print target-libdir --target "$1" 2>/dev/null)" ]; }

options=()
for target in x86_64-pc-windows-gnu aarch64-apple-darwin aarch64-unknown-linux-musl; do
  has_target "$target" || timeout 120 rustup target add "$target" >/dev/null 2>&1 || true
  if has_target "$target"; then options+=(--target "$target"); else
    why="the Rust target $target cannot be added"
    echo "check-systems: $why" >&2
    printf 'script\tthe compile check for %s\t%s\n' "$target" "$why" >> "${PICOCLAW_SKIPS-/dev/null}"
  fi
done
[ ${#options[@]} -gt 0 ] || exit 0

# A check links nothing: without compilers for these systems the parts of the TLS library in C are
# left out.
for target in x86_64_pc_windows_gnu aarch64_apple_darwin aarch64_unknown_linux_musl; do
  export "CC_$target=true" "AR_$target=true"
done
cargo clippy --workspace --locked --quiet "${options[@]}" -- -D warnings
