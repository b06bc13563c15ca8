#!/usr/bin/env bash
# Runs every check: formatting, clippy, licences, whether the program compiles for Windows, macOS and
# ARM, all tests, the same as an ordinary user when root runs this, and the integration tests once
# more against the release binary. Ends with a list of what was skipped; STRICT=1 makes that a
# failure.
set -euo pipefail
cd "$(dirname "$0")/.."

stage=$(mktemp -d)
trap 'for job in ${setup-} ${build-}; do kill -- "-$job" 2>/dev/null || true; done; rm -rf "$stage"' EXIT
chmod 755 "$stage"
mkdir -m 1777 "$stage/tmp"
# Tests append a line for each skip (crates/testing); the ordinary user's do too.
skips=$stage/skips
: > "$skips"
chmod 666 "$skips"

# Tests of the whole program wait for most of their time.
threads=$(($(nproc) * 3))

# A clean clone gains nothing from incremental compilation, which costs time.
if [ -n "${CI-}" ]; then export CARGO_INCREMENTAL=0; fi

begin() { printf '\n== %s\n' "$1"; }

# What the tests need is fetched while clippy compiles. This job and the next lead process groups of
# their own, which end with this script.
set -m
bash scripts/setup.sh < /dev/null &
setup=$!
set +m

begin "format, clippy, licences"
cargo fmt --all --check
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
wait "$setup"
setup=
bash scripts/deny.sh

begin "compiled for Windows, macOS and Linux on ARM"
PICOCLAW_SKIPS=$skips bash scripts/check-systems.sh

# The release binary is built beside the tests, most of which wait. It has no session of its own:
# where the kernel groups by session (autogroup), niceness counts within one session only.
set -m
nice -n 19 bash scripts/build.sh > "$stage/build" 2>&1 &
build=$!
set +m

# programs: the test programs and the binaries that they start, one a line: kind, name, path.
programs() {
  cargo test --workspace --locked --no-run --message-format=json 2>/dev/null |
    python3 -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable"):
        kind = "test" if message["profile"]["test"] else "binary"
        print(kind, message["target"]["name"], message["executable"])'
}

# as_ordinary_user: every test program as uid 65534, from copies, since that user cannot read a
# private checkout.
as_ordinary_user() {
  mkdir -m 755 "$stage/test" "$stage/binary"
  programs > "$stage/programs"
  while read -r kind name path; do cp "$path" "$stage/$kind/$name"; done < "$stage/programs"
  for program in "$stage"/test/*; do
    echo "as uid 65534: $(basename "$program")"
    (cd "$stage/tmp" && env -i PATH="$PATH" HOME="$stage/tmp" TMPDIR="$stage/tmp" ${PICOCLAW_SOAK:+PICOCLAW_SOAK="$PICOCLAW_SOAK"} \
      PICOCLAW_SKIPS="$skips" PICOCLAW_PASS=other PICOCLAW_TEST_BINARY="$stage/binary/picoclaw" \
      setpriv --reuid=65534 --regid=65534 --clear-groups "$program" --quiet --test-threads "$threads" --skip architecture:: --skip documents::)
  done
}

# integration_tests_except: options of `cargo test` for every test but those of the whole program.
integration_tests_except() {
  cargo metadata --no-deps --format-version 1 | python3 -c '
import json, sys
targets = [target for package in json.load(sys.stdin)["packages"] for target in package["targets"]]
print(*("--test " + target["name"] for target in targets if target["kind"] == ["test"] and target["name"] != sys.argv[1]))' "$1"
}

# The tests of the whole program (`it`) take most of the time. They run twice: with the debug build
# as an ordinary user, and with the release binary as root; an ordinary user runs both alone.
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
  begin "all tests, as $(id -un)"
  printf 'script\tthe run as another user\tneeds root and setpriv\n' >> "$skips"
  PICOCLAW_SKIPS=$skips PICOCLAW_PASS=own cargo test --workspace --locked -- --test-threads "$threads"
else
  begin "all tests but those of the whole program, as root"
  # shellcheck disable=SC2046
  PICOCLAW_SKIPS=$skips PICOCLAW_PASS=own cargo test --workspace --locked --lib --bins $(integration_tests_except it) -- \
    --test-threads "$threads"
  begin "all tests, as an ordinary user (uid 65534)"
  as_ordinary_user
fi

begin "integration tests against the release binary, as $(id -un)"
wait "$build" || { cat "$stage/build"; exit 1; }
build=
PICOCLAW_SKIPS=$skips PICOCLAW_PASS=own PICOCLAW_TEST_BINARY=$PWD/target/picoclaw \
  cargo test --workspace --locked --test it -- --test-threads "$threads"

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
