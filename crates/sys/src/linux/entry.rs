//! Where the static program begins: its own tables, fetched in one piece.
//!
//! A program that may lie anywhere has tables of addresses, and its first act is to write each of them. Left alone that is
//! a page fault for every page of them, more than a hundred, and a good part of what a start costs. One system call beforehand
//! brings them all; a kernel without it (before 5.14) says so, and the pages come one by one as ever.
//!
//! Invariant: whatever the call answers, the C library's own beginning follows with the stack and registers as they were.

std::arch::global_asm!(
    ".globl picoclaw_start",
    ".type picoclaw_start, @function",
    "picoclaw_start:",
    "mov r9, rdx",
    "lea rdi, [rip + __init_array_start]",
    "and rdi, -4096",
    "lea rsi, [rip + _edata]",
    "sub rsi, rdi",
    "mov edx, {populate_for_writing}",
    "mov eax, {madvise}",
    "syscall",
    "mov rdx, r9",
    "jmp _start",
    ".size picoclaw_start, . - picoclaw_start",
    populate_for_writing = const libc::MADV_POPULATE_WRITE,
    madvise = const libc::SYS_madvise,
);
