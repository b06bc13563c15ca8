//! Where the static program begins: its tables of addresses are written, and those that nobody needs later.
//!
//! A program that may lie anywhere has tables of addresses (names, messages, methods) that are right only after each address in them
//! was written, which takes a page of memory for every page of them: more than a hundred. One system call brings the pages in one
//! piece; a kernel without it (before 5.14) says so, and they come one by one as ever. The C library would then ask of each word
//! whether it is an address; here it is gone from one address to the next, and the list is marked as done before it sees it.
//!
//! A plain `picoclaw run` looks at none of the tables of most libraries in it. The linker lays those together (`crates/cli/start.cold`),
//! and for `run` they stay out of reach; whoever looks there all the same makes the kernel say so, and all of them are written then.
//!
//! Invariant: no address is read before it was written, and each is written once.

use crate::linux::addresses::List;
use crate::linux::raw::call;
use std::arch::global_asm;
use std::sync::atomic::{AtomicUsize, Ordering};

const PAGE: usize = 4096;
/// `elf.h`: how long the list of packed relocations is, and where it lies.
const DT_RELRSZ: usize = 35;
const DT_RELR: usize = 36;
/// The kernel's name for a handler that brings its own way back.
const SA_RESTORER: usize = 0x0400_0000;

/// The tables that are out of reach, and the list of what is to be written to them.
struct Later {
    program: AtomicUsize,
    begin: AtomicUsize,
    end: AtomicUsize,
    /// From here …
    from: AtomicUsize,
    /// … to here; the same when nothing is out of reach.
    to: AtomicUsize,
}

static LATER: Later = Later {
    program: AtomicUsize::new(0),
    begin: AtomicUsize::new(0),
    end: AtomicUsize::new(0),
    from: AtomicUsize::new(0),
    to: AtomicUsize::new(0),
};

global_asm!(
    ".pushsection .text.picoclaw_start, \"ax\", @progbits",
    ".globl picoclaw_start",
    ".type picoclaw_start, @function",
    "picoclaw_start:",
    "mov rbx, rsp",
    "mov r12, rdx",
    "sub rsp, 64",
    "mov [rsp], rbx",
    "lea rax, [rip + __ehdr_start]",
    "mov [rsp + 8], rax",
    "lea rax, [rip + _DYNAMIC]",
    "mov [rsp + 16], rax",
    "lea rax, [rip + __init_array_start]",
    "mov [rsp + 24], rax",
    "lea rax, [rip + _edata]",
    "mov [rsp + 32], rax",
    "lea rax, [rip + picoclaw_cold_start]",
    "mov [rsp + 40], rax",
    "lea rax, [rip + picoclaw_cold_end]",
    "mov [rsp + 48], rax",
    "lea rax, [rip + picoclaw_looked]",
    "mov [rsp + 56], rax",
    "mov rdi, rsp",
    "call {prepare}",
    "mov rsp, rbx",
    "mov rdx, r12",
    "xor ebp, ebp",
    "jmp _start",
    ".size picoclaw_start, . - picoclaw_start",
    // Where the kernel goes when a part is looked at that is out of reach, and the way back.
    "picoclaw_looked:",
    "jmp {looked}",
    "picoclaw_back:",
    "mov eax, {sigreturn}",
    "syscall",
    ".popsection",
    // Where no link script says otherwise, no table is left for later.
    ".pushsection .data.rel.ro.picoclaw_cold, \"aw\", @progbits",
    ".weak picoclaw_cold_start",
    "picoclaw_cold_start:",
    ".weak picoclaw_cold_end",
    "picoclaw_cold_end:",
    ".popsection",
    prepare = sym prepare,
    looked = sym looked,
    sigreturn = const libc::SYS_rt_sigreturn,
);

/// Where the linker put what, as the assembly above lays it out.
#[repr(C)]
struct Places {
    /// The kernel's words: how many arguments, then where each is.
    stack: *const usize,
    program: usize,
    dynamic: *mut [usize; 2],
    tables: usize,
    end: usize,
    cold: usize,
    cold_end: usize,
    looked: usize,
}

/// Runs before everything else, when no table is right yet: it uses none, and no thread's memory.
///
/// # Safety
/// To be called once, by the program's beginning.
unsafe extern "C" fn prepare(places: &Places) {
    let Places { stack, program, dynamic, tables, end, cold, cold_end, looked } = *places;
    // SAFETY: the linker ends that list with a zero word.
    let Some(list) = (unsafe { claim(program, dynamic) }) else { return };
    let tables = tables & !(PAGE - 1);
    let whole_pages = cold % PAGE == 0 && cold_end % PAGE == 0;
    // SAFETY: the kernel's own words.
    if cold < cold_end && whole_pages && unsafe { is_run(stack) } {
        fetch(tables, cold);
        fetch(cold_end, end);
        // SAFETY: nobody has looked at anything yet, and what is left out is written later.
        unsafe {
            list.write(0, cold);
            list.write(cold_end, usize::MAX);
        }
        LATER.program.store(list.program, Ordering::Relaxed);
        LATER.begin.store(list.begin, Ordering::Relaxed);
        LATER.end.store(list.end, Ordering::Relaxed);
        LATER.from.store(cold, Ordering::Relaxed);
        LATER.to.store(cold_end, Ordering::Relaxed);
        // Out of reach, and somebody who listens: without one of them everything is written after all.
        if !(protect(cold, cold_end, libc::PROT_NONE) && listen(looked)) {
            complete_tables();
        }
    } else {
        fetch(tables, end);
        // SAFETY: nobody has looked at anything yet.
        unsafe { list.write(0, usize::MAX) };
    }
}

/// Brings the pages in one piece, to be written to.
fn fetch(from: usize, to: usize) {
    if from < to {
        // SAFETY: the program's own memory; asking for its pages changes nothing in it.
        let _ = unsafe { call!(libc::SYS_madvise, from, to - from, libc::MADV_POPULATE_WRITE) };
    }
}

fn protect(from: usize, to: usize, how: i32) -> bool {
    // SAFETY: whole pages of the program's own tables, which nobody looks at while they are written.
    unsafe { call!(libc::SYS_mprotect, from, to - from, how) }.is_ok()
}

/// Finds the list, and marks it as done before the C library sees it.
unsafe fn claim(program: usize, mut note: *mut [usize; 2]) -> Option<List> {
    let (mut begin, mut length) = (0, 0);
    loop {
        // SAFETY: a note of the list that ends with a zero.
        let [kind, value] = unsafe { note.read() };
        match kind {
            0 => break,
            DT_RELR => begin = value,
            DT_RELRSZ => {
                length = value;
                // SAFETY: the same note; it is writable memory of the program.
                unsafe { note.write([kind, 0]) };
            }
            _ => {}
        }
        note = note.wrapping_add(1);
    }
    let begin = program.wrapping_add(begin);
    (length > 0).then_some(List { program, begin, end: begin.wrapping_add(length) })
}

/// Whether the first word that was typed is `run`.
unsafe fn is_run(stack: *const usize) -> bool {
    // SAFETY: the kernel puts the number of arguments there, then their addresses; each ends with a zero byte.
    unsafe {
        let word = if *stack < 2 { return false } else { *stack.wrapping_add(2) as *const u8 };
        let mut at = 0;
        while at < 4 {
            if *word.wrapping_add(at) != *c"run".as_ptr().cast::<u8>().wrapping_add(at) {
                return false;
            }
            at += 1;
        }
    }
    true
}

/// Asks the kernel to be told when somebody looks at what is out of reach. Whoever started us may have blocked that signal, and then
/// the first look would be the end.
fn listen(looked: usize) -> bool {
    unsafe extern "C" {
        fn picoclaw_back();
    }
    let flags = SA_RESTORER | (libc::SA_SIGINFO | libc::SA_NODEFER) as usize;
    let back: unsafe extern "C" fn() = picoclaw_back;
    let action = [looked, flags, back as usize, 0];
    let fault = 1_u64 << (libc::SIGSEGV - 1);
    // SAFETY: a live `sigaction` and a live mask, both of the kernel's layout.
    unsafe {
        call!(libc::SYS_rt_sigaction, libc::SIGSEGV, action.as_ptr(), 0, 8).is_ok()
            && call!(libc::SYS_rt_sigprocmask, libc::SIG_UNBLOCK, &raw const fault, 0, 8).is_ok()
    }
}

/// From now on a fault is what it is everywhere.
fn stop_listening() {
    let default = [0_usize; 4];
    // SAFETY: a live `sigaction` of the kernel's layout.
    let _ = unsafe { call!(libc::SYS_rt_sigaction, libc::SIGSEGV, default.as_ptr(), 0, 8) };
}

/// Somebody looked. A look at anything but what is out of reach is a fault, and ends the process as ever.
extern "C" fn looked(_signal: i32, info: *const libc::siginfo_t) {
    // SAFETY: the kernel's own record of what happened.
    let (code, at) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    let later = LATER.from.load(Ordering::Relaxed)..LATER.to.load(Ordering::Relaxed);
    if code > 0 && later.contains(&at) {
        complete_tables();
        return;
    }
    stop_listening();
    // A fault happens again when this returns; what somebody sent has to be sent again.
    if code <= 0 {
        // SAFETY: integers only.
        let _ = unsafe { call!(libc::SYS_getpid).and_then(|own| call!(libc::SYS_kill, own, libc::SIGSEGV)) };
    }
}

/// Writes whatever was left for later. To be called before a second thread begins, who could look at a table half written; a
/// keeper, who may share this memory, uses nothing but this crate, and nothing of it is left for later.
pub fn complete_tables() {
    let (from, to) = (LATER.from.load(Ordering::Relaxed), LATER.to.load(Ordering::Relaxed));
    if from >= to {
        return;
    }
    let list = List {
        program: LATER.program.load(Ordering::Relaxed),
        begin: LATER.begin.load(Ordering::Relaxed),
        end: LATER.end.load(Ordering::Relaxed),
    };
    if !protect(from, to, libc::PROT_READ | libc::PROT_WRITE) {
        // No memory to write to: whoever looks ends with a fault.
        stop_listening();
        return;
    }
    fetch(from, to);
    // SAFETY: these have not been written, and this happens once.
    unsafe { list.write(from, to) };
    protect(from, to, libc::PROT_READ);
    LATER.to.store(from, Ordering::Relaxed);
}
