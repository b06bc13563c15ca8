#!/usr/bin/env bash
# install.sh [--remove] PREFIX: the binary, its manual pages and its completions beneath PREFIX, or
# their removal.
set -euo pipefail
cd "$(dirname "$0")/.."
remove=
if [ "$1" = --remove ]; then remove=1; shift; fi
prefix=$1
binary=$prefix/bin/picoclaw
man=$prefix/share/man/man1
completions=(
  "bash:$prefix/share/bash-completion/completions/picoclaw"
  "zsh:$prefix/share/zsh/site-functions/_picoclaw"
  "fish:$prefix/share/fish/vendor_completions.d/picoclaw.fish"
)

if [ -n "$remove" ]; then
  rm -f "$binary" "$man"/picoclaw.1 "$man"/picoclaw-*.1 "${completions[@]#*:}"
  echo "removed $binary, its manual pages and completions"
  exit
fi
install -Dm755 target/picoclaw "$binary"
mkdir -p "$man"
target/picoclaw man --dir "$man"
for entry in "${completions[@]}"; do
  mkdir -p "$(dirname "${entry#*:}")"
  target/picoclaw completions "${entry%%:*}" > "${entry#*:}"
done
echo "installed $binary, its manual pages and completions"
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) echo "note: $prefix/bin is not in PATH" ;;
esac
