//! System calls that rustix does not wrap, in a form that is safe to use between `clone` and
//! `execve`.

use rustix::io::{Errno, Result};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::c_long;
use std::os::fd::BorrowedFd;

/// One system call by number. Every argument is widened to a register, since the kernel reads all
/// of it.
macro_rules! syscall {
    ($number:expr $(, $argument:expr)* $(,)?) => {
        $crate::linux::raw_syscall::raw_syscall($number, [$(($argument) as usize),*])
    };
}
pub(crate) use syscall;

/// Makes a system call through the C library.
///
/// # Safety
/// Memory that the call reads or writes must be valid for that access.
pub(crate) unsafe fn raw_syscall<const N: usize>(number: c_long, arguments: [usize; N]) -> Result<c_long> {
    let mut all = [0; 6];
    all.iter_mut().zip(arguments).for_each(|(register, argument)| *register = argument);
    let [a, b, c, d, e, f] = all;
    // SAFETY: the caller vouches for the memory; every argument fills its register.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result != -1 {
        return Ok(result);
    }
    // SAFETY: `errno` belongs to the calling thread; a process made by `clone` has a copy of it.
    Err(Errno::from_raw_os_error(unsafe { *libc::__errno_location() }))
}

/// A descriptor that a [`ChildSpec`](crate::linux::ChildSpec) names by number.
pub(crate) fn borrow_fd(number: i32) -> BorrowedFd<'static> {
    // SAFETY: the caller of `spawn` keeps the descriptors of its spec open during the call, and the
    // child's copies stay open until it has run its steps. A number that is not open makes the
    // system call fail with EBADF.
    unsafe { BorrowedFd::borrow_raw(number.max(0)) }
}

/// Sends a signal as `kill(2)` does, groups and `-1` included. A target that is gone needs none.
pub(crate) fn kill(pid: i32, signal: i32) {
    // SAFETY: integers only.
    let _ = unsafe { syscall!(libc::SYS_kill, pid, signal) };
}

/// Replaces the signal mask of the calling thread and returns the previous one; bit `n - 1` stands
/// for signal `n`.
pub(crate) fn set_signal_mask(mask: u64) -> Result<u64> {
    let mut previous = 0u64;
    // SAFETY: both masks are alive and have the kernel's size, eight bytes.
    unsafe {
        syscall!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, &raw mut previous, 8)?;
    }
    Ok(previous)
}

/// Ends the process without running exit handlers.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: an integer; the call does not return.
    unsafe { libc::_exit(code) }
}

/// Milliseconds of the monotonic clock.
pub(crate) fn now_ms() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.wrapping_mul(1000).wrapping_add(now.tv_nsec / 1_000_000)
}

/// Asks for short time slices, so that this thread runs soon among many that are busy: the
/// scheduler prefers the earliest deadline, which is a slice away (Linux 6.12; of no effect
/// before). What this thread starts has ordinary slices.
pub fn prefer_short_slices() {
    set_slices(SHORT_SLICE_NS, RESET_ON_FORK);
}

/// The same for this process and all that it starts, until one of them asks for [ordinary
/// slices](ordinary_slices).
pub(crate) fn prefer_short_slices_in_children() {
    set_slices(SHORT_SLICE_NS, 0);
}

/// Asks for the slices that every process has.
pub(crate) fn ordinary_slices() {
    set_slices(0, 0);
}

const SHORT_SLICE_NS: u64 = 100_000;
const RESET_ON_FORK: u64 = 1;

fn set_slices(slice_ns: u64, flags: u64) {
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        slice_ns: u64,
        deadline: u64,
        period: u64,
    }
    let Ok(nice) = rustix::process::getpriority_process(None) else { return };
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: 0,
        flags,
        nice,
        priority: 0,
        slice_ns,
        deadline: 0,
        period: 0,
    };
    // SAFETY: a live structure that says how long it is.
    let _ = unsafe { syscall!(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}
