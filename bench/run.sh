#!/usr/bin/env bash
# Measures picoclaw against its peers, in one run, and leaves nothing behind. Nothing here can fail for being slow.
set -euo pipefail
cd "$(dirname "$0")/.."
picoclaw=$(realpath "${PICOCLAW:?PICOCLAW names the release binary}")

# The same target and profile as the binary, so that both allocate and inline alike.
target=(--target "$("$picoclaw" version --json | sed -n 's/.*"target":"\([^"]*\)".*/\1/p')")
program=${BENCH_PROGRAM:-}
if [ -z "$program" ]; then
  echo "bench: building"
  program=$(cargo build --release --locked -p picoclaw-agent --bench compare "${target[@]}" --message-format=json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*compare-[^"]*\)".*/\1/p' | tail -n 1)
fi

# The servers of others, in fixed versions; without them the rows say SKIPPED.
bash scripts/peers.sh
export PICOCLAW_BENCH_PEERS=$PWD/target/peers

# In memory, where the disk's moods do not count; and on a disk, where they do.
disk=$(mktemp -d "${TMPDIR:-/tmp}/picoclaw-bench-XXXXXX")
memory=$disk/quiet
trap 'rm -rf "$disk" "$memory"' EXIT
# A workspace cannot lie in /dev, so /dev/shm is no place for an instance.
if [ -d "${XDG_RUNTIME_DIR:-}" ] && [ -w "$XDG_RUNTIME_DIR" ]; then
  memory=$(mktemp -d "$XDG_RUNTIME_DIR/picoclaw-bench-XXXXXX")
else
  mkdir "$memory"
fi

# As installed: a copy starts a tenth faster than the file that the linker left, the bytes being the same.
install -m755 "$picoclaw" "$disk/picoclaw"
picoclaw=$disk/picoclaw

# BENCH="open read" measures these sections alone; bench/main.rs lists them.
# shellcheck disable=SC2086
"$program" "$picoclaw" "$disk" "$memory" ${BENCH:-}
