#!/usr/bin/env bash
# Runs the tests for Windows under Wine.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-pc-windows-gnu
compiler=x86_64-w64-mingw32-gcc

fail() { echo "test-windows: $1" >&2; exit 1; }
has_target() { [ -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ]; }
has_target || timeout 120 rustup target add "$target" >/dev/null 2>&1 || true
has_target || fail "the Rust target $target cannot be added"

# need PROGRAM|FILE PACKAGE
need() {
  if ! command -v "$1" >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "test-windows: installing $2"
    (apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2") >/dev/null 2>&1 || true
  fi
  command -v "$1" >/dev/null || fail "$2 is missing (apt install $2)"
}
# Debian's wine64 puts its program beside its libraries.
PATH=$PATH:/usr/lib/wine
need "$compiler" gcc-mingw-w64-x86-64
need wine64 wine64

export WINEPREFIX=$PWD/target/wine WINEDEBUG=-all
wine64 wineboot --init >/dev/null 2>&1
# Wine 8 lacks the library that Rust takes its random numbers from.
library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
if [ ! -e "$library" ]; then
  "$compiler" -shared -O2 -o "$library" -x c - -ladvapi32 <<'C'
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return RtlGenRandom(data, (ULONG)size); }
C
fi

# Tests append a line for what this system does not enforce (crates/testing).
skips=$PWD/target/wine/skips
: > "$skips"
export PICOCLAW_SKIPS=$skips CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine64
cargo test --locked --target "$target" -p picoclaw-policy --test windows_paths --test windows_shell
cargo test --locked --target "$target" -p picoclaw-policy --lib windows
cargo test --locked --target "$target" -p picoclaw-sys
cargo test --locked --target "$target" -p picoclaw-sandbox --test windows_files --test windows_launch
cargo test --locked --target "$target" -p picoclaw-cli --test windows_program
echo "not verified under $(wine64 --version):"
sed -E 's/^[^\t]*\t/  /; s/\t/: /' "$skips"
