#!/usr/bin/env bash
# Checks that the program compiles for Windows, macOS and Linux on ARM without warnings; what cannot
# be checked here is added to the list of skips. The fuzz targets, which `make fuzz` builds, have to
# compile as well.
set -euo pipefail
cd "$(dirname "$0")/.."

has_target() { [ -d "$(rustc --print target-libdir --target "$1" 2>/dev/null)" ]; }

skip() {
  echo "check-systems: $2" >&2
  printf 'script\t%s\t%s\n' "$1" "$2" >> "${PICOCLAW_SKIPS-/dev/null}"
}

# libFuzzer is C++.
if command -v c++ >/dev/null; then
  cargo check --quiet --locked --manifest-path fuzz/Cargo.toml --target-dir target/fuzz
else
  skip "the compile check of the fuzz targets" "there is no C++ compiler"
fi

options=()
for target in x86_64-pc-windows-gnu aarch64-apple-darwin aarch64-unknown-linux-musl; do
  has_target "$target" || timeout 120 rustup target add "$target" >/dev/null 2>&1 || true
  if has_target "$target"; then options+=(--target "$target"); else
    skip "the compile check for $target" "the Rust target $target cannot be added"
  fi
done
[ ${#options[@]} -gt 0 ] || exit 0

# A check links nothing: without compilers for these systems the parts of the TLS library in C are
# left out.
for target in x86_64_pc_windows_gnu aarch64_apple_darwin aarch64_unknown_linux_musl; do
  export "CC_$target=true" "AR_$target=true"
done
cargo clippy --workspace --locked --quiet "${options[@]}" -- -D warnings
