//! A new process on a stack of its own, in the memory of the one that makes it.
//!
//! The C library's own way writes what a call answered into the thread's memory, which both would then have in common;
//! this one touches nothing but registers and the new stack.
//!
//! Invariant: the new process runs the given function and nothing else, and never returns from it.

use crate::linux::raw::Errno;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};

/// Where a new process begins.
pub(crate) type Beginning = extern "C" fn(*mut c_void) -> !;

/// Room for the calls of a process that has no room of its own yet. Whoever writes to it says why nobody else does.
#[repr(align(16))]
pub(crate) struct Stack(UnsafeCell<[u8; 64 << 10]>);

// SAFETY: taking its address is all that happens here.
unsafe impl Sync for Stack {}

impl Stack {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new([0; 64 << 10]))
    }

    fn top(&self) -> *mut c_void {
        // SAFETY: one past the last byte of a live array.
        unsafe { self.0.get().add(1).cast() }
    }
}

/// Whether a process that goes on beside its child can lend it its memory here.
pub(crate) const CAN_LEND: bool = cfg!(target_arch = "x86_64");

/// Makes a process that shares this memory; its number. The kernel writes a descriptor of it to `pidfd`, if `flags` say so.
///
/// # Safety
/// `begin` must be right with `argument`, which has to live as long as the new process needs it, and so has whatever it reads;
/// nobody else may use `stack` until that process has ended or executed a program.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn share(
    flags: u64,
    stack: &'static Stack,
    pidfd: *mut c_int,
    begin: Beginning,
    argument: *mut c_void,
) -> Result<i32, Errno> {
    // SAFETY: the caller's promise; the assembly below keeps to the calling convention.
    let answer =
        unsafe { picoclaw_share(flags | libc::CLONE_VM as u64, stack.top(), pidfd, begin, argument) };
    if answer < 0 { Err(answer.wrapping_neg() as Errno) } else { Ok(answer as i32) }
}

/// The same where the maker waits until the new process has executed or ended, so that the C library's way will do.
///
/// # Safety
/// As above.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn share(
    flags: u64,
    stack: &'static Stack,
    _pidfd: *mut c_int,
    begin: Beginning,
    argument: *mut c_void,
) -> Result<i32, Errno> {
    struct Both(Beginning, *mut c_void);
    extern "C" fn first(both: *mut c_void) -> c_int {
        // SAFETY: the maker's live local, which waits for us.
        let Both(begin, argument) = unsafe { both.cast::<Both>().read() };
        begin(argument)
    }
    let mut both = Both(begin, argument);
    let flags = flags as c_int | libc::CLONE_VM;
    // SAFETY: the caller's promise, and `both` outlives its use, since the maker waits.
    let made = unsafe { libc::clone(first, stack.top(), flags, (&raw mut both).cast()) };
    if made < 0 { Err(libc::EAGAIN) } else { Ok(made) }
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn picoclaw_share(
        flags: u64,
        stack: *mut c_void,
        pidfd: *mut c_int,
        begin: Beginning,
        argument: *mut c_void,
    ) -> isize;
}

// The kernel keeps every register but three (the answer's, rcx, r11), in the new process too.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.picoclaw_share, \"ax\", @progbits",
    ".globl picoclaw_share",
    ".type picoclaw_share, @function",
    "picoclaw_share:",
    "mov r9, rcx",
    "xor r10d, r10d",
    "mov eax, {clone}",
    "syscall",
    "test rax, rax",
    "jz 2f",
    "ret",
    "2:",
    "xor ebp, ebp",
    "mov rdi, r8",
    "call r9",
    "ud2",
    ".size picoclaw_share, . - picoclaw_share",
    ".popsection",
    clone = const libc::SYS_clone,
);
