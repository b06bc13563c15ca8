#!/usr/bin/env bash
# Installs what the tests need and this machine lacks, or says loudly what will be skipped.
set -u
cd "$(dirname "$0")/.."
# It may run in the background, where a question on the terminal would stop it.
export DEBIAN_FRONTEND=noninteractive

# It compiles while everything else waits for the network.
bash scripts/deny.sh --install &
deny=$!

# need PROGRAM|FILE PACKAGE WHY: the tests run real commands in it, or look at a real screen with
# it.
need() {
  if command -v "$1" >/dev/null || [ -f "$1" ]; then return; fi
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing $2, $3"
    update_once
    apt-get install -y -qq --no-install-recommends "$2" >/dev/null 2>&1
  fi
  if command -v "$1" >/dev/null || [ -f "$1" ]; then
    echo "setup: $2 is there"
  else
    echo "setup: $2 is missing and could not be installed (apt install $2); tests that need it are skipped"
  fi
}

update_once() {
  [ -n "${updated-}" ] || apt-get update -qq >/dev/null 2>&1
  updated=1
}

need bwrap bubblewrap "which the tests run real commands in"
need tmux tmux "on whose screen the tests look at a session"
need chromium chromium "in which the tests use the console"
need ssh-agent openssh-client "whose agent the tests lend to a command"
need gpg-agent gpg-agent "which the tests lend to a command"
need gpg gpg "which signs in the tests"
need runc runc "in whose containers the tests look at what holds"
need /usr/share/containers/seccomp.json golang-github-containers-common "whose system call filter containers have by default"
bash scripts/peers.sh
wait "$deny"
