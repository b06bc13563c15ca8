//! The limit on open descriptors, and closing descriptors in bulk.
//!
//! Programs that use `select` break beyond 1,024 descriptors, and hosts keep the soft limit there
//! for their sake. So the limit is raised for this process only; its children get the limit that it
//! was started with.

use crate::linux::raw_syscall::syscall;
use rustix::io::Result;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The soft limit before the first raise; zero while there was none.
static ORIGINAL: AtomicU64 = AtomicU64::new(0);

/// Raises the soft limit to `wanted` descriptors, as far as the hard limit allows. Children keep
/// the original limit.
pub fn raise_fd_limit(wanted: u64) -> io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    let Some(original) = limit.current else { return Ok(()) };
    let raised = limit.maximum.unwrap_or(wanted).min(wanted);
    if raised <= original {
        return Ok(());
    }
    limit.current = Some(raised);
    setrlimit(Resource::Nofile, limit)?;
    // A second raise would find our own limit.
    let _ = ORIGINAL.compare_exchange(0, original, Ordering::Release, Ordering::Relaxed);
    Ok(())
}

/// In a child: sets the soft limit that this program was started with.
pub(super) fn restore_fd_limit() -> Result<()> {
    let original = ORIGINAL.load(Ordering::Acquire);
    if original == 0 {
        return Ok(());
    }
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(limit.maximum.unwrap_or(original).min(original));
    setrlimit(Resource::Nofile, limit)
}

/// Closes every descriptor from `first` to `last`.
///
/// # Safety
/// Nothing in this process may use one of them afterwards.
pub(super) unsafe fn close_range(first: i32, last: i32) {
    // SAFETY: integers only; the caller vouches for the descriptors.
    if unsafe { syscall!(libc::SYS_close_range, first, last, 0) }.is_err() {
        for fd in first..=last.min(highest_fd()) {
            // SAFETY: as above.
            let _ = unsafe { syscall!(libc::SYS_close, fd) };
        }
    }
}

/// Marks every descriptor from `first` on to be closed at `execve`.
pub(super) fn set_close_on_exec(first: i32) {
    // SAFETY: integers only; no descriptor is closed now.
    let marked = unsafe { syscall!(libc::SYS_close_range, first, i32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked.is_err() {
        // A kernel before 5.11.
        for fd in first..=highest_fd() {
            // SAFETY: integers only.
            let _ = unsafe { syscall!(libc::SYS_fcntl, fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}

/// The highest number that a descriptor of this process can have.
fn highest_fd() -> i32 {
    const CEILING: u64 = 1 << 20;
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(CEILING).min(CEILING);
    i32::try_from(limit).unwrap_or(1 << 20)
}
