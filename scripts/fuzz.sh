#!/usr/bin/env bash
# Fuzzes every target for a bounded time. The property-test twins run in `make test` in any case.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seconds=${FUZZ_SECONDS:-60}
if ! rustup toolchain list 2>/dev/null | grep -q nightly; then
  echo "SKIPPED: fuzzing needs a nightly toolchain (rustup toolchain install nightly)"
  exit 0
fi
if ! command -v cargo-fuzz >/dev/null; then
  echo "fuzz: installing cargo-fuzz"
  cargo install --quiet --locked cargo-fuzz
fi
for target in $(cargo +nightly fuzz list); do
  echo "fuzz: $target, $seconds s"
  cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -verbosity=0 -print_final_stats=1
done
