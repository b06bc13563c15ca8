#!/usr/bin/env bash
# Installs what the tests need and this machine lacks, or says loudly what will be skipped.
set -u
if ! command -v bwrap >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing bubblewrap, which the tests run real commands in"
    (apt-get update -qq && apt-get install -y -qq bubblewrap) >/dev/null 2>&1
  fi
  if command -v bwrap >/dev/null; then
    echo "setup: $(bwrap --version)"
  else
    echo "SKIPPED: bubblewrap is missing and could not be installed (apt install bubblewrap); tests that need it will say so"
  fi
fi
bash "$(dirname "$0")/peers.sh"
