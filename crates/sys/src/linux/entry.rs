//! Where the static program begins: its own tables, fetched in one piece and filled in.
//!
//! A program that may lie anywhere has tables of addresses, and its first act is to write each of them. Left alone that is
//! a page fault for every page of them, more than a hundred, and a good part of what a start costs. One system call beforehand
//! brings them all; a kernel without it (before 5.14) says so, and the pages come one by one as ever. The C library would then
//! ask of each word whether it is an address; here it is gone from one address to the next, and the list of addresses is marked
//! as done before the C library sees it.
//!
//! Invariant: whatever the call answers, the C library's own beginning follows with the stack and registers as they were,
//! and every address is written once.

/// `elf.h`: how long the list of packed relocations is, and where it lies.
const DT_RELRSZ: usize = 35;
const DT_RELR: usize = 36;

std::arch::global_asm!(
    ".pushsection .text.picoclaw_start, \"ax\", @progbits",
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
    // rsi: the list of addresses; r10: its length, behind which the linker's own notes go on.
    "xor r10d, r10d",
    "lea rdi, [rip + _DYNAMIC]",
    "2:",
    "mov rax, [rdi]",
    "cmp rax, {relr}",
    "cmove rsi, [rdi + 8]",
    "lea rdi, [rdi + 16]",
    "cmp rax, {relr_size}",
    "cmove r10, rdi",
    "test rax, rax",
    "jnz 2b",
    "test r10, r10",
    "jz 9f",
    "xor ecx, ecx",
    "xchg rcx, [r10 - 8]",
    "lea r8, [rip + __ehdr_start]",
    "add rsi, r8",
    "add rcx, rsi",
    // An even word is where an address lies; the bits of an odd one say which of the 63 words behind are addresses.
    "3:",
    "cmp rsi, rcx",
    "jae 9f",
    "mov rax, [rsi]",
    "add rsi, 8",
    "test al, 1",
    "jnz 4f",
    "lea rdi, [rax + r8]",
    "add [rdi], r8",
    "add rdi, 8",
    "jmp 3b",
    "4:",
    "shr rax, 1",
    "jz 6f",
    "5:",
    "rep bsf r11, rax",
    "add [rdi + r11 * 8], r8",
    "lea r11, [rax - 1]",
    "and rax, r11",
    "jnz 5b",
    "6:",
    "add rdi, 63 * 8",
    "jmp 3b",
    "9:",
    "jmp _start",
    ".size picoclaw_start, . - picoclaw_start",
    ".popsection",
    populate_for_writing = const libc::MADV_POPULATE_WRITE,
    madvise = const libc::SYS_madvise,
    relr = const DT_RELR,
    relr_size = const DT_RELRSZ,
);
