//! The descriptors that connections of commands may take of this program's.

use rustix::process::{Resource, getrlimit};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Those that are taken, over all networks.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// A share of half of the descriptors that this program may have open: the rest is for its own
/// work, whatever commands do.
#[derive(Debug)]
pub(super) struct FdBudget(usize);

impl FdBudget {
    /// The descriptors of all networks together.
    pub(super) fn limit() -> usize {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 2;
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    /// Takes so many.
    pub(super) fn take(count: usize) -> io::Result<Self> {
        let limit = Self::limit();
        let more = |taken: usize| taken.checked_add(count).filter(|taken| *taken <= limit);
        match TAKEN.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
            Ok(_) => Ok(Self(count)),
            Err(_) => Err(io::Error::other("too many connections are open; `ulimit -n` raises the limit")),
        }
    }
}

impl Drop for FdBudget {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0, Ordering::AcqRel);
    }
}
