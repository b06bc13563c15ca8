#!/usr/bin/env bash
# Runs every test; as root, the tests of the rooms run a second time as an ordinary user.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --locked

if [ "$(id -u)" != 0 ]; then
  echo "SKIPPED: the second run, as another user, needs root"
  exit 0
fi
if ! command -v setpriv >/dev/null; then
  echo "SKIPPED: the second run, as another user, needs setpriv"
  exit 0
fi

# The ordinary user cannot read a private checkout: give it copies of the test programs and of the tables.
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
mkdir -m 1777 "$stage/tmp"
echo "again, as an ordinary user (uid 65534):"
cargo test --workspace --locked --no-run --message-format=json 2>/dev/null |
  python3 -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and message.get("profile", {}).get("test"):
        print(message["target"]["name"], message["executable"])' > "$stage/programs"
# Apart from the test programs: one of them is called `picoclaw` as well.
mkdir -m 755 "$stage/bin"
cp target/debug/picoclaw "$stage/bin/picoclaw"
while read -r name program; do
  cp "$program" "$stage/$name"
  echo "as uid 65534: $name"
  (cd "$stage/tmp" && env -i PATH="$PATH" HOME="$stage/tmp" TMPDIR="$stage/tmp" ${PICOCLAW_SOAK:+PICOCLAW_SOAK="$PICOCLAW_SOAK"} \
    PICOCLAW_TEST_BINARY="$stage/bin/picoclaw" \
    setpriv --reuid=65534 --regid=65534 --clear-groups "$stage/$name" --quiet --skip architecture:: --skip documents::)
done < "$stage/programs"
