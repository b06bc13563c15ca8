//! System calls by number, for the time after `clone`.
//!
//! Invariant: nothing here allocates; a failed call is its `errno`, never a panic.

use std::ffi::c_long;

/// The kernel's reason for a no.
pub(crate) type Errno = i32;

/// One system call by number. Every argument is widened to a register: a variadic call leaves the upper half of a
/// narrower one undefined, and the kernel would read it as part of a pointer.
macro_rules! call {
    ($number:expr $(, $argument:expr)* $(,)?) => {
        $crate::linux::raw::check(libc::syscall($number $(, ($argument) as usize)*))
    };
}
pub(crate) use call;

/// Turns the return value of a call that was just made into a result.
pub(crate) fn check(rc: c_long) -> Result<c_long, Errno> {
    if rc != -1 {
        return Ok(rc);
    }
    // SAFETY: the C library gives every thread a valid `errno` of its own; a child made by `clone` has its parent's.
    Err(unsafe { *libc::__errno_location() })
}

/// Closes a descriptor; whether that succeeded changes nothing for a process about to exec or end.
pub(crate) fn close(fd: i32) {
    // SAFETY: closing a number touches no memory of ours, and the descriptor belongs to this process alone.
    let _ = unsafe { call!(libc::SYS_close, fd) };
}

/// Closes a descriptor of a process that soon lets go of all of them: only a large number is worth the call now, since
/// the way to the command's start is waited for and the rest is not.
pub(crate) fn close_later(fd: i32) {
    const PLENTY: i32 = 256;
    if fd > PLENTY {
        close(fd);
    }
}

/// Ends this process at once, without the C library's farewell.
pub(crate) fn exit(code: i32) -> ! {
    loop {
        // SAFETY: exit_group takes one integer and does not return; the loop is for the type alone.
        unsafe { libc::syscall(libc::SYS_exit_group, code as usize) };
    }
}

/// Milliseconds on a clock that never goes back.
pub(crate) fn now_ms() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live timespec that the kernel fills.
    let _ = unsafe { call!(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.wrapping_mul(1000).wrapping_add(time.tv_nsec / 1_000_000)
}
