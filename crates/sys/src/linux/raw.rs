//! System calls by number, for the time after `clone`.
//!
//! Invariant: nothing here allocates; a failed call is its `errno`, never a panic.

use std::ffi::c_long;

/// The kernel's reason for a no.
pub(crate) type Errno = i32;

/// One system call by number. Every argument is widened to a register: the kernel reads all of it.
macro_rules! call {
    ($number:expr $(, $argument:expr)* $(,)?) => {
        $crate::linux::raw::ask($number, [$(($argument) as usize),*])
    };
}
pub(crate) use call;

/// Asks the kernel.
///
/// # Safety
/// What the call reads and writes has to be the caller's to read and write.
pub(crate) unsafe fn ask<const N: usize>(number: c_long, arguments: [usize; N]) -> Result<c_long, Errno> {
    let [one, two, three, four, five, six] = six(arguments);
    // SAFETY: the caller's promise; every argument fills its register.
    let answer = unsafe { libc::syscall(number, one, two, three, four, five, six) };
    if answer != -1 {
        return Ok(answer);
    }
    // SAFETY: the C library gives every thread a valid `errno` of its own; a child made by `clone` has its parent's.
    Err(unsafe { *libc::__errno_location() })
}

fn six<const N: usize>(arguments: [usize; N]) -> [usize; 6] {
    let mut all = [0; 6];
    all.iter_mut().zip(arguments).for_each(|(place, argument)| *place = argument);
    all
}

/// Closes a descriptor; whether that succeeded changes nothing for a process about to exec or end.
pub(crate) fn close(fd: i32) {
    // SAFETY: closing a number touches no memory of ours, and the descriptor belongs to this process alone.
    let _ = unsafe { call!(libc::SYS_close, fd) };
}

/// Ends this process at once, without the C library's farewell.
pub(crate) fn exit(code: i32) -> ! {
    loop {
        // SAFETY: exit_group takes one integer and does not return; the loop is for the type alone.
        let _ = unsafe { call!(libc::SYS_exit_group, code) };
    }
}

/// Milliseconds on a clock that never goes back.
pub(crate) fn now_ms() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live timespec that the kernel fills.
    let _ = unsafe { call!(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.wrapping_mul(1000).wrapping_add(time.tv_nsec / 1_000_000)
}
