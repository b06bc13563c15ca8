#!/usr/bin/env bash
# Runs spec/everyday.toml on the host, in the cage, in plain bubblewrap and in sandbox-runtime, as
# root and as an ordinary user, and writes docs/everyday.md. Takes some minutes; no part of
# `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/peers.sh everyday
picoclaw=$(realpath "${PICOCLAW:-target/picoclaw}")
program=${EVERYDAY_PROGRAM:-}
if [ -z "$program" ]; then
  program=$(cargo test --locked -p picoclaw-cli --test it --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*\/it-[^"]*\)".*/\1/p' | tail -n 1)
fi

# Not beneath /tmp, where plain bubblewrap would hide homes and projects behind its own.
if [ "$(id -u)" = 0 ]; then stage=$(mktemp -d /srv/everyday-XXXXXX); else stage=$(mktemp -d "$HOME/.everyday-XXXXXX"); fi
trap 'rm -rf "$stage"' EXIT
# The temporary directory that sandbox-runtime names and does not make.
mkdir -p -m 1777 /tmp/claude
chmod 755 "$stage"
mkdir -m 1777 "$stage/tmp"
cp "$program" "$stage/it"
cp "$picoclaw" "$stage/picoclaw"
cp -R target/peers/srt "$stage/srt" 2>/dev/null || true
: > "$stage/skips"
chmod 666 "$stage/skips"

# tasks HOME OUT COMMAND…: the comparison with this home.
tasks() {
  local home=$1 out=$2
  shift 2
  (cd "$stage/tmp" && env -i PATH="${PATH//$HOME/$home}" HOME="$home" TMPDIR="$stage/tmp" PICOCLAW_EVERYDAY="$out" \
    PICOCLAW_SKIPS="$stage/skips" PICOCLAW_TEST_PEERS="$stage" PICOCLAW_TEST_BINARY="$stage/picoclaw" \
    "$@" "$stage/it" --ignored --exact everyday::compare::compare)
}

own=$(id -un)
tasks "$HOME" "$stage/tmp/own.md"
if [ "$own" = root ] && command -v setpriv >/dev/null; then
  # A user whose Rust toolchain lies in their home; links, since it is large.
  mkdir -p "$stage/home/.cargo"
  cp -al "$HOME/.rustup" "$stage/home/.rustup" 2>/dev/null || true
  cp -al "$HOME/.cargo/bin" "$stage/home/.cargo/bin" 2>/dev/null || true
  chown 65534:65534 "$stage/home" "$stage/home/.cargo"
  tasks "$stage/home" "$stage/tmp/other.md" setpriv --reuid=65534 --regid=65534 --clear-groups
fi

{
  cat <<'TEXT'
# Everyday work, compared

`make everyday` writes this page. It runs the tasks of `spec/everyday.toml` that pass on the host in
three places, each time in a new project and without a network:

- **cage**: `picoclaw run`, with no flag, and with the one flag that a task needs and the output
  names;
- **bubblewrap**: `bwrap --ro-bind / /`, the project writable, private `/tmp`, `/proc`, `/dev`, pid
  and network namespaces. The whole disk is readable, your home and its keys included;
- **sandbox-runtime** (`@anthropic-ai/sandbox-runtime` 0.0.83): no host allowed, the project, `/tmp`
  and `/var/tmp` writable, with the temporary directory that it names (`/tmp/claude`) made for it.
  The whole disk is readable here too.

So the cage is the only one of the three in which a task cannot read your home; the table says what
that costs.
TEXT
  printf '\n## As %s\n\n' "$own"
  cat "$stage/tmp/own.md"
  if [ -f "$stage/tmp/other.md" ]; then
    printf '\n## As an ordinary user\n\nWith a Rust toolchain in their home.\n\n'
    cat "$stage/tmp/other.md"
  fi
} > docs/everyday.md
echo "everyday: docs/everyday.md"
