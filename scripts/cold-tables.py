#!/usr/bin/env python3
"""Writes down whose tables of addresses a start of `picoclaw run` never looks at.

    cargo rustc --release --target x86_64-unknown-linux-musl -p picoclaw-cli --bin picoclaw -- -C strip=none -C link-arg=-Wl,-Map=MAP
    scripts/cold-tables.py target/x86_64-unknown-linux-musl/release/picoclaw MAP > crates/cli/start.cold

The linker lays the tables of these modules together (crates/cli/build.rs), and `picoclaw run` writes their addresses only when
somebody looks. The list is a hint: a module that is gone matches nothing, and one that is missing is written at once.

All tables are taken out of the program's reach when it begins; each look at one is noted, and let through alone.
"""

import bisect
import ctypes
import os
import re
import signal
import subprocess
import sys

from one_start import libc, traced_by

TRACEME, PEEKTEXT, POKETEXT, CONT, STEP, GETREGS, SETREGS = 0, 1, 4, 7, 9, 12, 13
GETSIGINFO, SETOPTIONS, EXITKILL = 0x4202, 0x4200, 0x100000
ORIG_RAX, RIP, RAX, RDI, RSI, RDX = 15, 16, 10, 14, 13, 12
MPROTECT = 10
PAGE = 4096
# Smaller ones are not worth a line.
LEAST = 200


def tables(link_map):
    """Each table: where it begins, how long it is, whose it is."""
    found, pending, inside = [], None, False
    with open(link_map) as lines:
        for line in lines:
            if line.startswith(".data.rel.ro"):
                inside = True
            elif inside and line.startswith(".dynamic"):
                break
            named = re.match(r" (\.data\.rel\.ro\S*)\s*(?:(0x[0-9a-f]+)\s+(0x[0-9a-f]+))?", line)
            rest = re.match(r"\s+(0x[0-9a-f]+)\s+(0x[0-9a-f]+)\s", line)
            if named and named[2]:
                found.append((int(named[2], 16), int(named[3], 16), module(named[1])))
                pending = None
            elif named:
                pending = named[1]
            elif rest and pending:
                found.append((int(rest[1], 16), int(rest[2], 16), module(pending)))
                pending = None
    return sorted((one for one in found if one[1]), key=lambda one: one[0])


def module(section):
    """Whose a table is: the module's mark, or its own name without what changes from build to build; a keeper's is nobody's."""
    anonymous = re.search(r"\.Lanon\.([0-9a-f]+)\.", section)
    if anonymous:
        return anonymous[1]
    named = re.match(r"\.data\.rel\.ro\.((?:\.Lswitch\.table\.)?_[ZR].*)$", section)
    if not named or "picoclaw_sys" in named[1]:
        return None
    name = re.sub(r"\.\d+$", ".*", re.sub(r"17h[0-9a-f]{16}E.*$", "17h*", named[1]))
    return re.sub(r"Cs[0-9A-Za-z]{8,13}_", "Cs*_", name)


def symbols(program):
    listed = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    return {words[2]: int(words[0], 16) for words in map(str.split, listed.splitlines()) if len(words) == 3}


class Traced:
    def __init__(self, program, arguments, environment):
        self.pid = os.fork()
        if self.pid == 0:
            libc.ptrace(TRACEME, 0, None, None)
            os.execve(program, [program, *arguments], environment)
        os.waitpid(self.pid, 0)
        libc.ptrace(SETOPTIONS, self.pid, None, EXITKILL)
        with open(f"/proc/{self.pid}/maps") as maps:
            self.base = next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(program))

    def registers(self):
        words = (ctypes.c_ulonglong * 27)()
        libc.ptrace(GETREGS, self.pid, None, ctypes.addressof(words))
        return words

    def set_registers(self, words):
        libc.ptrace(SETREGS, self.pid, None, ctypes.addressof(words))

    def go(self, how, number=0):
        libc.ptrace(how, self.pid, None, number)
        return os.waitpid(self.pid, 0)[1]

    def run_to(self, at):
        word = libc.ptrace(PEEKTEXT, self.pid, at, None) & (2**64 - 1)
        libc.ptrace(POKETEXT, self.pid, at, word & ~0xFF | 0xCC)
        self.go(CONT)
        libc.ptrace(POKETEXT, self.pid, at, word)
        words = self.registers()
        words[RIP] = at
        self.set_registers(words)

    def find_call(self, start):
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(start)
            self.call_at = start + memory.read(PAGE).index(b"\x0f\x05")

    def protect(self, start, end, how):
        kept, words = self.registers(), self.registers()
        words[RAX], words[RDI], words[RSI], words[RDX] = MPROTECT, start, end - start, how
        words[RIP], words[ORIG_RAX] = self.call_at, 2**64 - 1
        self.set_registers(words)
        self.go(STEP)
        kept[ORIG_RAX] = 2**64 - 1
        self.set_registers(kept)

    def fault(self):
        info = (ctypes.c_ulonglong * 16)()
        libc.ptrace(GETSIGINFO, self.pid, None, ctypes.addressof(info))
        return info[2]


def looks(program, arguments, environment):
    """Every address within the tables that is looked at, and how the program ended."""
    names = symbols(program)
    traced = Traced(program, arguments, environment)
    base = traced.base
    traced.run_to(base + names["_start"])
    traced.find_call(base + names["_start"])
    # What the program itself has put out of reach stays so, and its own listener is told.
    start, end = (base + names["picoclaw_cold_end"], base + (names["_DYNAMIC"] & ~(PAGE - 1)))
    traced.protect(start, end, 0)
    seen, number = set(), 0
    while True:
        status = traced.go(CONT, number)
        if not os.WIFSTOPPED(status):
            return seen, status
        number = os.WSTOPSIG(status)
        if number == signal.SIGTRAP:
            number = 0
        elif number == signal.SIGSEGV:
            at = traced.fault()
            seen.add(at - base)
            if start <= at < end:
                traced.protect(start, end, 3)
                traced.go(STEP)
                traced.protect(start, end, 0)
                number = 0


def main():
    program, link_map = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
    seen, status = traced_by(looks, program)
    if status != 0:
        sys.exit(f"the traced run ended with {status}")
    every = tables(link_map)
    begins = [one[0] for one in every]
    looked_at = {every[bisect.bisect_right(begins, at) - 1][2] for at in seen}
    sizes = {}
    for _, size, whose in every:
        sizes[whose] = sizes.get(whose, 0) + size
    cold = [(size, whose) for whose, size in sizes.items() if whose and whose not in looked_at and size >= LEAST]
    print("# Made by scripts/cold-tables.py: modules, and single tables, with addresses that a start does not look at.")
    for _, whose in sorted(cold, reverse=True):
        print(whose)
    print(f"{sum(size for size, _ in cold)} bytes of {len(cold)} modules", file=sys.stderr)


main()
