//! How many descriptors this process may have, and how many its children may.
//!
//! Programs that use `select` break beyond 1,024 descriptors, and hosts keep the soft limit there for their sake: whoever
//! raises it does so for itself.
//!
//! Invariant: a child finds the soft limit that this program found.

use crate::linux::raw::call;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The soft limit that was found; nought when it was never raised.
static FOUND: AtomicU64 = AtomicU64::new(0);

/// Lets this process have up to `most` descriptors, as far as its hard limit goes; its children may have no more than before.
pub fn raise_descriptors(most: u64) -> io::Result<()> {
    let mut limit = limit().map_err(io::Error::from_raw_os_error)?;
    let found = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max.min(most);
    if limit.rlim_cur <= found {
        return Ok(());
    }
    set(&limit).map_err(io::Error::from_raw_os_error)?;
    // The first one alone was the host's.
    let _later = FOUND.compare_exchange(0, found, Ordering::Release, Ordering::Relaxed);
    Ok(())
}

/// In a child: the limit as this program found it. Neither allocates nor waits.
pub(super) fn as_found() -> Result<(), i32> {
    let found = FOUND.load(Ordering::Acquire);
    if found == 0 {
        return Ok(());
    }
    let mut limit = limit()?;
    limit.rlim_cur = limit.rlim_max.min(found);
    set(&limit)
}

fn limit() -> Result<libc::rlimit64, i32> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: of this process, into a live rlimit; no new one is set.
    unsafe { call!(libc::SYS_prlimit64, 0, libc::RLIMIT_NOFILE, 0, &raw mut limit) }?;
    Ok(limit)
}

fn set(limit: &libc::rlimit64) -> Result<(), i32> {
    // SAFETY: of this process, from a live rlimit; the old one is not asked for.
    unsafe { call!(libc::SYS_prlimit64, 0, libc::RLIMIT_NOFILE, &raw const *limit, 0) }.map(drop)
}
