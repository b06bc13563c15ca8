#!/usr/bin/env python3
"""Writes down which functions a start of `picoclaw run` runs, in the order in which it first runs them.

    cargo rustc --release --target x86_64-unknown-linux-musl -p picoclaw-cli --bin picoclaw -- -C strip=none
    scripts/start-order.py target/x86_64-unknown-linux-musl/release/picoclaw > crates/cli/start.order

The linker lays these functions side by side (crates/cli/build.rs), so that a start touches few pages of code. The list
is a hint: a name that is gone matches nothing, and a function that is missing lies where it would have lain anyway.

Every function of the program gets a breakpoint that removes itself when it is hit; the children are followed too.
"""

import os
import re
import signal
import subprocess
import sys

from one_start import libc, traced_by

TRACEME, PEEKTEXT, POKETEXT, PEEKUSER, POKEUSER, CONT, SETOPTIONS = 0, 1, 4, 3, 6, 7, 0x4200
FORK, VFORK, CLONE, EXEC = 0x2, 0x4, 0x8, 0x10
EVENT_EXEC = 4
RIP = 16 * 8
BREAKPOINT = 0xCC
WALL = 0x40000000


def functions(program):
    """Where each function begins, from the program's symbols."""
    found = {}
    for line in subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            found.setdefault(int(words[0], 16), []).append(words[2])
    return found


def pattern(name):
    """A name without what changes from build to build: the hash at its end, the crate's mark within."""
    name = re.sub(r"17h[0-9a-f]{16}E.*$", "17h*", name)
    name = re.sub(r"(\.llvm)?\.\d+$", "*", name)
    return re.sub(r"Cs[0-9A-Za-z]{8,13}_", "Cs*_", name)


def text_of(pid, program):
    """The base of the program in memory, and the range of its code."""
    base = None
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            if not line.rstrip().endswith(program):
                continue
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            base = start if base is None else base
            if "x" in line.split()[1]:
                return base, start, end
    sys.exit(f"no code of {program} in memory")


def arm(pid, program, begins):
    """Puts a breakpoint where each function begins; what was there is returned by address."""
    base, start, end = text_of(pid, program)
    kept = {}
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(start)
        code = bytearray(memory.read(end - start))
        for offset in begins:
            at = base + offset
            if start <= at < end:
                kept[at] = code[at - start]
                code[at - start] = BREAKPOINT
        memory.seek(start)
        memory.write(code)
    return base, kept


def disarm(pid, at, byte):
    word = libc.ptrace(PEEKTEXT, pid, at & ~7, None) & (2**64 - 1)
    shift = 8 * (at & 7)
    word = word & ~(0xFF << shift) | byte << shift
    libc.ptrace(POKETEXT, pid, at & ~7, word)
    libc.ptrace(POKEUSER, pid, RIP, at)


def trace(program, arguments, environment):
    begins = functions(program)
    pid = os.fork()
    if pid == 0:
        libc.ptrace(TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.execve(program, [program, *arguments], environment)
    os.waitpid(pid, 0)
    libc.ptrace(SETOPTIONS, pid, None, FORK | VFORK | CLONE | EXEC)
    libc.ptrace(CONT, pid, None, None)
    base, kept, order, elsewhere, code = None, {}, {}, set(), None
    while True:
        try:
            who, status = os.waitpid(-1, WALL)
        except ChildProcessError:
            return order, code
        if not os.WIFSTOPPED(status):
            code = status if who == pid else code
            continue
        number, event = os.WSTOPSIG(status), status >> 16
        if event == EVENT_EXEC and base is None:
            base, kept = arm(pid, program, begins)
        elif event == EVENT_EXEC:
            elsewhere.add(who)
        elif event == 0 and number == signal.SIGTRAP and who not in elsewhere:
            at = (libc.ptrace(PEEKUSER, who, RIP, None) & (2**64 - 1)) - 1
            if at in kept:
                disarm(who, at, kept[at])
                for name in begins[at - base]:
                    order.setdefault(name)
        held = event or number in (signal.SIGTRAP, signal.SIGSTOP)
        libc.ptrace(CONT, who, None, 0 if held else number)


def main():
    program = os.path.realpath(sys.argv[1])
    order, code = traced_by(trace, program)
    if code != 0:
        sys.exit(f"the traced run ended with {code}")
    # The C library's own are few, and taken whole.
    names = [name for name in order if name.startswith(("_ZN", "_R"))]
    print("# Made by scripts/start-order.py: what a start of `picoclaw run` runs, in that order.")
    print("\n".join(re.sub(r"(\.llvm)?\.\d+$", "*", name) for name in names))
    print("# The same for another build, whose names have other marks; of a generic function that is every one.")
    print("\n".join(dict.fromkeys(pattern(name) for name in names)))


main()
