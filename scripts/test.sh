#!/usr/bin/env bash
# Runs every check: formatting, clippy, licences, all tests, the same as an ordinary user when root runs this, and the
# integration tests once more against the release binary. Ends with a list of what was skipped; STRICT=1 makes that a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
mkdir -m 1777 "$stage/tmp"
# Tests append a line for each skip (crates/testing); the ordinary user's do too.
skips=$stage/skips
: > "$skips"
chmod 666 "$skips"

begin() { printf '\n== %s\n' "$1"; }

begin "format, clippy, licences"
cargo fmt --all --check
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
bash scripts/deny.sh

begin "all tests, as $(id -un)"
PICOCLAW_SKIPS=$skips PICOCLAW_PASS=own cargo test --workspace --locked

# as_ordinary_user: the test programs again as uid 65534, from copies, since that user cannot read a private checkout.
as_ordinary_user() {
  cargo test --workspace --locked --no-run --message-format=json 2>/dev/null |
    python3 -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable"):
        name = message["target"]["name"]
        print(name if message["profile"]["test"] else "bin/" + name, message["executable"])' > "$stage/programs"
  # Apart from the test programs: one of them is called `picoclaw` as well.
  mkdir -m 755 "$stage/bin"
  while read -r name program; do cp "$program" "$stage/$name"; done < "$stage/programs"
  while read -r name _; do
    case $name in bin/*) continue ;; esac
    echo "as uid 65534: $name"
    (cd "$stage/tmp" && env -i PATH="$PATH" HOME="$stage/tmp" TMPDIR="$stage/tmp" ${PICOCLAW_SOAK:+PICOCLAW_SOAK="$PICOCLAW_SOAK"} \
      PICOCLAW_SKIPS="$skips" PICOCLAW_PASS=other PICOCLAW_TEST_BINARY="$stage/bin/picoclaw" \
      setpriv --reuid=65534 --regid=65534 --clear-groups "$stage/$name" --quiet --skip architecture:: --skip documents::)
  done < "$stage/programs"
}

if [ "$(id -u)" != 0 ]; then
  printf 'script\tthe run as another user\tneeds root\n' >> "$skips"
elif ! command -v setpriv >/dev/null; then
  printf 'script\tthe run as another user\tneeds setpriv\n' >> "$skips"
else
  begin "all tests, as an ordinary user (uid 65534)"
  as_ordinary_user
fi

begin "integration tests against the release binary"
bash scripts/build.sh
PICOCLAW_SKIPS=$skips PICOCLAW_PASS=release PICOCLAW_TEST_BINARY=$PWD/target/picoclaw \
  cargo test --workspace --locked --test it

# A test that ran in the other user's run is none that was skipped.
begin "skipped"
python3 - "$skips" <<'PYTHON'
import os, sys
passes = {}
for line in open(sys.argv[1]):
    name, test, reason = line.rstrip("\n").split("\t", 2)
    passes.setdefault((test, reason), set()).add(name)
ran_as_both = os.geteuid() == 0
only_own = ("architecture::", "documents::")
skipped = []
for (test, reason), names in sorted(passes.items()):
    users = {name for name in names if name in ("own", "other")}
    if ran_as_both and len(users) == 1 and not (test.startswith(only_own) and "own" in users):
        continue
    skipped.append(f"  {test}: {reason}")
print("\n".join(skipped) if skipped else "  nothing")
print(f"{len(skipped)} skipped")
if skipped and os.environ.get("STRICT") == "1":
    sys.exit("STRICT=1: a skip is a failure")
PYTHON
